"""The first page: what changed since the last run, what to decide, and what is safe to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

import polars as pl

from doorkeeper_pipeline.amounts import amount, day, short
from doorkeeper_pipeline.jobs.causes import DECIDE, SAFE
from doorkeeper_pipeline.jobs.findings import Group, groups_of
from doorkeeper_pipeline.report.findings import Finding, Register
from doorkeeper_pipeline.report.frames import Frames, counts_by, severity_of
from doorkeeper_pipeline.report.model import (
    UNKNOWN,
    About,
    Column,
    Figure,
    Kind,
    Section,
    Statement,
    Table,
    Tag,
)
from doorkeeper_pipeline.tables.places import folder_of

MONTH = timedelta(days=28)
PAGE = 10
"""Groups at a time: both tables fit two printed pages."""

NEW = Tag("new", "First found by the last run.", strong=True)
_EXPIRED = Tag("acceptance expired", "Its acceptance has expired.", strong=True)
_SEVERITY = (
    "Severity is what a grant opens: critical, everything; high, the cluster, every topic,"
    " sensitive topics, or a topic for everybody; medium, a prefix, every name of another kind, or"
    " control of one; low, one name."
)


class Standing(NamedTuple):
    """The findings of a report, without what is left out of it.

    ``rows`` are those of the table ``findings``, ``groups`` those that stand. ``runs`` are the
    starts of all runs, the oldest first. ``accepted`` is the number of those that stand and are
    left out, since they are accepted until a day.
    """

    rows: pl.DataFrame
    groups: tuple[Group, ...]
    runs: tuple[datetime, ...]
    register: Register | None = None
    accepted: int = 0

    @property
    def last(self) -> datetime | None:
        return self.runs[-1] if self.runs else None

    @property
    def before(self) -> datetime | None:
        """Return the start of the run before; None where there was none."""
        return self.runs[-2] if len(self.runs) > 1 else None

    def count_at(self, action: str, at: datetime) -> int:
        """Return how many findings of an action stood after a run."""
        stood = (pl.col("first_seen") <= at) & (pl.col("gone").is_null() | (pl.col("gone") > at))
        return len(self.rows.filter(pl.col("action") == action, stood))

    def came(self) -> list[Group]:
        """Return the findings that the last run found first, in groups; none of a first run."""
        return self._of(pl.col("first_seen") == self.last) if self.before else []

    def went(self) -> list[Group]:
        """Return those that it did not find any more."""
        return self._of(pl.col("gone") == self.last, is_gone=True) if self.before else []

    def _of(self, condition: pl.Expr, *, is_gone: bool = False) -> list[Group]:
        rows = self.rows.filter(condition, pl.col("gone").is_not_null() == is_gone)
        return groups_of(rows.with_columns(gone=None), self.last)


def standing_of(frames: Frames, about: About, register: Register | None = None) -> Standing | None:
    """Return the findings that a report shows; None in tables that have none of them."""
    findings, runs = frames.get("findings"), frames.get("runs")
    if findings is None or runs is None:
        return None
    left_out = about.left_out
    is_accepted = pl.col("finding_id").is_in(list(left_out.accepted))
    rows = findings.filter(~pl.col("principal").is_in(left_out.principals)).collect()
    accepted = len(rows.filter(is_accepted, pl.col("gone").is_null()))
    rows = rows.filter(~is_accepted)
    times = runs.filter(pl.col("command") == "run").select("started").collect()["started"]
    starts = tuple(sorted(times.to_list()))
    groups = tuple(groups_of(rows, starts[-1] if starts else None))
    return Standing(rows, groups, starts, register, accepted)


def figures_of(frames: Frames, standing: Standing | None) -> tuple[Figure, ...]:
    """Return the three numbers at the top."""
    if standing is None:
        remark = "the tables were written by an earlier release: run again"
        sections = {"changes": "changed", "decide": "to decide", "safe": "safe to do now"}
        return tuple(Figure(UNKNOWN, "", what, remark, name) for name, what in sections.items())
    return _changed(frames, standing), _to_decide(standing), _safe(frames, standing)


def decide_of(standing: Standing | None, about: About) -> Section:
    """Return the section with what somebody must answer."""
    groups = _groups(standing, DECIDE)
    accepted = 0 if standing is None else standing.accepted
    lead = [_lead(groups, "to decide about")]
    if accepted:
        lead.append(
            f"{amount(accepted, 'finding')} accepted until a day"
            f" {'is' if accepted == 1 else 'are'} left out."
        )
    return Section(
        id="decide",
        word="Decide",
        title="What to decide today",
        lead=tuple(lead),
        tables=(_table("decisions", "To decide, by principal and cause", groups, standing, about),),
    )


def safe_of(frames: Frames, standing: Standing | None, about: About) -> Section:
    """Return the section with what can be done without a question."""
    section = partial(Section, id="safe", word="Safe to do", title="Safe to do now")
    if "grant_usage" not in frames:
        return section(missing="No ACLs were given, so no removal is known to be safe.")
    groups = _groups(standing, SAFE)
    lead = [_lead(groups, "to remove")]
    if groups:
        lead.append(
            "They can all be removed together without changing any decision in the history."
            " Unread lines are counted under Quality; ACLs of super users are kept if the"
            " principal may lose that status. doorkeeper-pipeline propose --out proposal.yaml"
            " writes the set without them."
        )
    return section(
        lead=tuple(lead),
        tables=(_table("removals", "To remove, by principal", groups, standing, about),),
    )


COLUMNS = (
    Column("Severity", Kind.TAG, lambda group: severity_of(group.severity), choice=True),
    Column("Principal", Kind.NAME, lambda group: group.who),
    Column("Finding", Kind.STATEMENT, lambda group: Statement(group.text, group.subjects)),
)
"""The columns of a group of findings."""


def _groups(standing: Standing | None, action: str) -> list[Group]:
    return (
        [] if standing is None else [group for group in standing.groups if group.action == action]
    )


def _lead(groups: Sequence[Group], what: str) -> str:
    if not groups:
        return f"There is nothing {what}."
    count = sum(group.size for group in groups)
    return (
        f"{amount(count, 'finding')} {what}, in {amount(len(groups), 'group')}: the most severe"
        " first, then the largest."
    )


def _table(
    name: str, title: str, groups: list[Group], standing: Standing | None, about: About
) -> Table:
    """Return a table of groups; columns in which nothing would stand are left out."""
    shown = groups[: about.rows_max]
    known = standing.register.findings if standing and standing.register else {}
    more = (
        Column(
            "What to do",
            Kind.STATEMENT,
            lambda group: Statement(group.why if group.asks else group.advice),
        ),
        Column("State", Kind.TAG, lambda group: _state(group, standing, known, about), choice=True),
        Column("Owner", Kind.NAME, lambda group: _owner(group, known)),
        Column("First reported", Kind.DAY, lambda group: group.first_seen),
    )[name == "removals" :]
    return Table(
        id=name,
        title=title,
        note=_SEVERITY if name == "decisions" else "",
        columns=(*COLUMNS, *(column for column in more if any(map(column.value, shown)))),
        items=shown,
        total=len(groups),
        page=PAGE,
        whole=folder_of("findings"),
        empty="Nothing.",
    )


def _state(
    group: Group, standing: Standing | None, known: Mapping[str, Finding], about: About
) -> Tag | None:
    ends = [known[finding_id].accepted_until for finding_id in group.ids if finding_id in known]
    if any(end is not None and end < about.made.date() for end in ends):
        return _EXPIRED
    return NEW if group.new and standing and standing.before else None


def _owner(group: Group, known: Mapping[str, Finding]) -> str | None:
    owners = {known[finding_id].owner for finding_id in group.ids if finding_id in known}
    return ", ".join(sorted(owners - {""})) or None


def _changed(frames: Frames, standing: Standing) -> Figure:
    before = standing.before
    if before is None:
        remark = "this is the first run"
        return Figure(UNKNOWN, "", "changed", remark, "changes")
    count = sum(group.size for group in standing.came())
    gone = sum(group.size for group in standing.went())
    parts = [f"{amount(gone, 'finding')} gone"]
    drift, new = frames.get("drift"), frames.get("new_access")
    if drift is not None:
        counts = counts_by(drift.filter(pl.col("at") > before), "change")
        parts.append(
            f"{amount(counts.get('ADDED', 0), 'ACL')} added, {counts.get('REMOVED', 0):,} removed"
        )
    if new is not None:
        counts = counts_by(new.filter(pl.col("first_ts") > before), "kind")
        parts.append(amount(counts.get("PRINCIPAL", 0), "new principal"))
    what = f"new {'finding' if count == 1 else 'findings'} since {day(before)}"
    return Figure(short(count), f"{count:,}", what, "; ".join(parts), "changes")


def _to_decide(standing: Standing) -> Figure:
    groups = _groups(standing, DECIDE)
    count = sum(group.size for group in groups)
    severities = Counter(group.severity for group in groups)
    parts = [amount(len(groups), "group")] if groups else []
    parts += [
        f"{severities[severity]} {severity.lower()}"
        for severity in ("CRITICAL", "HIGH")
        if severities[severity]
    ]
    parts += _trend(standing, DECIDE, count)
    return Figure(short(count), f"{count:,}", "to decide", "; ".join(parts), "decide")


def _safe(frames: Frames, standing: Standing) -> Figure:
    usage = frames.get("grant_usage")
    if usage is None:
        return Figure(UNKNOWN, "", "grants to remove", "no set of ACLs was given", "safe")
    groups = _groups(standing, SAFE)
    count = sum(group.size for group in groups)
    held = counts_by(usage, "verdict").get("NOT_ENOUGH_EVIDENCE", 0)
    waiting = [f"not enough evidence about {amount(held, 'grant')}"] if held else []
    if not count and held:
        return Figure(UNKNOWN, "", "grants to remove", waiting[0], "grants")
    parts = [f"of {amount(len(groups), 'principal')}; no decision needs them"] if count else []
    parts += [*waiting, *_trend(standing, SAFE, count)]
    word = "grant to remove" if count == 1 else "grants to remove"
    return Figure(short(count), f"{count:,}", word, "; ".join(parts), "safe")


def _trend(standing: Standing, action: str, count: int) -> list[str]:
    """Return how much more or less there is than after the run before, and a month ago."""
    times = [standing.before]
    if standing.last is not None:
        old = [at for at in standing.runs if at <= standing.last - MONTH]
        times = [standing.before, *old[-1:]]
    return [
        f"{count - then:+,} since {day(at)}" if count != then else f"as many as on {day(at)}"
        for at in dict.fromkeys(times)
        if at is not None
        for then in [standing.count_at(action, at)]
    ]
