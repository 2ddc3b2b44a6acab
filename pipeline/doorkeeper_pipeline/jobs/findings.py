"""The findings of a run in groups by principal and cause, ranked, and in a few lines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import polars as pl

from doorkeeper_pipeline.amounts import amount, times
from doorkeeper_pipeline.evaluation import refusals
from doorkeeper_pipeline.evaluation.literals import text
from doorkeeper_pipeline.evaluation.severity import SEVERITIES
from doorkeeper_pipeline.jobs.causes import CAUSES, DECIDE, SAFE, subject_of

LISTED_MAX: Final = 3
GROUPS_MAX: Final = 10
"""The groups of an action that are listed, and of as many more the number."""

_RANKS: Final = {name: number for number, name in enumerate(SEVERITIES)}
_CAUSE_RANKS: Final = {name: number for number, name in enumerate(CAUSES)}
_TITLES: Final = {
    DECIDE: "to decide",
    SAFE: "safe to apply now, with doorkeeper-pipeline propose",
}


class Group(NamedTuple):
    """Findings of one principal and cause; ``principal`` is empty where one answer is for all.

    Severity and ``why`` are those of the most severe, with which ``subjects`` begin. ``first_seen``
    is the oldest time, and ``new`` says how many the last run found first.
    """

    action: str
    severity: str
    cause: str
    principal: str
    principals: int
    size: int
    new: int
    first_seen: dt.datetime
    text: str
    why: str
    advice: str
    subjects: tuple[str, ...]
    ids: tuple[str, ...]

    @property
    def who(self) -> str:
        """Return the principal, or how many there are."""
        return self.principal or amount(self.principals, "principal")

    @property
    def asks(self) -> bool:
        return CAUSES[self.cause].asks

    @property
    def title(self) -> str:
        """Return the group in words, without its subjects."""
        return f"{self.who}: {self.text}"


def groups_of(findings: pl.DataFrame, run_at: dt.datetime | None = None) -> list[Group]:
    """Return the findings that stand, of the table of that name, in groups; the highest first.

    ``run_at`` is the start of the last run.
    """
    rows = findings.filter(pl.col("gone").is_null()).to_dicts()
    rows.sort(key=lambda row: (_key(row), _RANKS[row["severity"]], row["subject"]))
    groups = [_group(list(group_rows), run_at) for _, group_rows in groupby(rows, key=_key)]
    return sorted(groups, key=_rank)


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["cause"], "" if CAUSES[row["cause"]].together else row["principal"]


def _rank(group: Group) -> tuple[Any, ...]:
    rank = _RANKS[group.severity]
    return group.action, rank, _CAUSE_RANKS[group.cause], -group.size, group.principal


def _group(rows: Sequence[Mapping[str, Any]], run_at: dt.datetime | None) -> Group:
    first = rows[0]
    name, principal = _key(first)
    cause = CAUSES[name]
    size = len(rows)
    words = {
        "grants": amount(size, "grant")
        if cause.together
        else f"{size:,} of {amount(first['grants'], 'grant')}",
        "decisions": times(sum(row["decisions"] for row in rows)),
        "why": first["why"],
    }
    return Group(
        action=cause.action,
        severity=first["severity"],
        cause=name,
        principal=principal,
        principals=len({row["principal"] for row in rows}),
        size=size,
        new=sum(row["first_seen"] == run_at for row in rows),
        first_seen=min(row["first_seen"] for row in rows),
        text=cause.text.format(**words),
        why=first["why"],
        advice=cause.advice,
        subjects=tuple(row["subject"] for row in rows),
        ids=tuple(row["finding_id"] for row in rows),
    )


def lines_of(
    groups: Iterable[Group], tables: Mapping[str, pl.DataFrame], before: dt.datetime | None
) -> Iterator[str]:
    """Yield a summary: grants to decide about, safe removals, what is held back; refusals.

    ``tables`` are those of ``causes.SOURCES``, ``before`` is the start of the run before.
    """
    of_grants = [group for group in groups if not CAUSES[group.cause].severity]
    for action, title in _TITLES.items():
        yield from _action(title, [group for group in of_grants if group.action == action], before)
    yield from _held(tables["grant_usage"])
    yield from _refusals(tables["denied"], tables["grant_usage"])


def _action(title: str, groups: Sequence[Group], before: dt.datetime | None) -> Iterator[str]:
    if not groups:
        return
    new = sum(group.new for group in groups)
    since = f", {new:,} new since the run of {before:%Y-%m-%d %H:%M}" if before else ""
    yield f"{title}: {amount(sum(group.size for group in groups), 'finding')}{since}"
    for group in groups[:GROUPS_MAX]:
        more = len(group.subjects) - LISTED_MAX
        named = [*group.subjects[:LISTED_MAX], *([f"and {more:,} more"] if more > 0 else [])]
        yield f"  {group.severity:<8}  {group.title}: {'; '.join(named)}"
        if group.asks:
            yield f"{'':<12}{group.why}"
    if rest := groups[GROUPS_MAX:]:
        more = sum(group.size for group in rest)
        yield f"  and {amount(more, 'finding')} in {amount(len(rest), 'group')}"


def _held(usage: pl.DataFrame) -> Iterator[str]:
    """Name the grants that stay for want of evidence, by rule, with an example of each."""
    held = usage.filter(pl.col("verdict") == "NOT_ENOUGH_EVIDENCE")
    if held.is_empty():
        return
    yield f"not enough evidence: {amount(len(held), 'grant')}"
    subject = subject_of(pl.col("pattern_type"), pl.col("host"))
    held = held.with_columns(subject, count=pl.lit(1)).sort("principal", "subject")
    for rule, count in _largest(held, "rule", len(held)):
        row = held.filter(pl.col("rule") == rule).row(0, named=True)
        example = f"{row['principal']}: {row['subject']}: {row['why']}"
        yield f"  {example}" if count == 1 else f"  {count:,}, such as {example}"


def _refusals(denied: pl.DataFrame, usage: pl.DataFrame) -> Iterator[str]:
    """Name the causes of refusals, each with its advice and its own principals or DENYs.

    A principal with few refusals stands beside others of its cause only: one that asks for
    everything all the time does not hide it.
    """
    real = denied.filter(~pl.col("probe"))
    if real.is_empty():
        return
    yield f"refused: {real['count'].sum():,}"
    opens = effects_of_removal(usage)
    for cause in refusals.CAUSES:
        rows = real.filter(pl.col("cause") == cause.name)
        if rows.is_empty():
            continue
        yield f"  {cause.word}, {rows['count'].sum():,}: {cause.advice}"
        by, most = "principal", GROUPS_MAX if cause.helps else LISTED_MAX
        if cause.name == "DENY":
            by = "denied_by"
        largest = _largest(rows, by, most)
        for name, count in largest:
            of_one = rows.filter(pl.col(by) == name)
            yield f"    {name}: {count:,}{_detail(cause.name, of_one, opens)}"
        others = rows[by].n_unique() - len(largest)
        if others:
            rest = int(rows["count"].sum()) - sum(count for _, count in largest)
            yield f"    and {rest:,} of {amount(others, 'other')}"


def _detail(cause: str, rows: pl.DataFrame, opens: Mapping[str, int]) -> str:
    """Return what stands behind the number of refusals of a principal, or of a DENY."""
    if cause == "DENY":
        text = rows["denied_by"][0]
        return (
            f"; without it {amount(opens[text], 'decision')} of this history would be allowed"
            if text in opens
            else ""
        )
    if cause == "NO_LOGIN":
        hosts = rows["hosts"].explode().unique().sort().to_list()
        return f" from {_listed(hosts)}"
    if cause == "PROBING":
        return f", {rows['rhythm'][0]}"
    order = ["count", "operation", "resource_type", "resource_name"]
    largest = rows.sort(order, descending=[True, False, False, False])
    asked = pl.format("{} on {} {}", "operation", "resource_type", "resource_name")
    return f", {_listed(largest.select(asked).to_series().to_list())}"


def _listed(texts: Sequence[str]) -> str:
    more = [f"and {len(texts) - LISTED_MAX:,} more"] if len(texts) > LISTED_MAX else []
    return ", ".join([*texts[:LISTED_MAX], *more])


def effects_of_removal(usage: pl.DataFrame) -> dict[str, int]:
    """Return for each DENY how many decisions it alone decided: without it they are allowed."""
    denies = usage.filter(pl.col("permission_type") == "DENY")
    return dict(denies.select(text(), "decisive_uses").iter_rows())


def _largest(frame: pl.DataFrame, by: str, most: int = LISTED_MAX) -> list[tuple[str, int]]:
    sums = (
        frame.group_by(by).agg(pl.col("count").sum()).sort(["count", by], descending=[True, False])
    )
    return [(text, int(count)) for text, count in sums.head(most).iter_rows()]
