"""The most important findings of a run, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from doorkeeper_pipeline.bindings import FIELDS, binding_of_row, text_of
from doorkeeper_pipeline.evaluation.refusals import CAUSES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LISTED_MAX: Final = 3
PRINCIPALS_MAX: Final = 10
"""The principals that are named: the widest grant may be of one with few."""
_ORDER: Final = ("principal", "resource_type", "resource_name", "pattern_type", "operation", "host")

SUMMARIZED: Final = {
    "denied": (
        *("principal", "operation", "resource_type", "resource_name", "probe", "count", "hosts"),
        *("denied_by", "cause", "rhythm"),
    ),
    "grant_usage": (*FIELDS, "decisive_uses"),
    "unused_grants": ("binding_id", *_ORDER, "proposal", "rule", "why"),
    "overbroad_grants": ("binding_id", *_ORDER, "excess", "uses"),
}
"""The tables that are summarized, and the columns for that."""


def findings_of(tables: Mapping[str, pl.DataFrame]) -> tuple[str, ...]:
    """Return the findings of the gold tables ``SUMMARIZED``, the most frequent first."""
    return (
        *_refusals(tables["denied"], tables["grant_usage"]),
        *_removable(tables["unused_grants"]),
        *_held(tables["unused_grants"]),
        *_wide(tables["overbroad_grants"]),
    )


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
    for cause in CAUSES:
        rows = real.filter(pl.col("cause") == cause.name)
        if rows.is_empty():
            continue
        yield f"  {cause.word}, {rows['count'].sum():,}: {cause.advice}"
        by, most = "principal", PRINCIPALS_MAX if cause.helps else LISTED_MAX
        if cause.name == "DENY":
            by = "denied_by"
        largest = _largest(rows, by, most)
        for name, count in largest:
            of_one = rows.filter(pl.col(by) == name)
            yield f"    {name}: {count:,}{_detail(cause.name, of_one, opens)}"
        others = rows[by].n_unique() - len(largest)
        if others:
            rest = int(rows["count"].sum()) - sum(count for _, count in largest)
            yield f"    and {rest:,} of {_amount(others, 'other')}"


def _detail(cause: str, rows: pl.DataFrame, opens: Mapping[str, int]) -> str:
    """Return what stands behind the number of refusals of a principal, or of a DENY."""
    if cause == "DENY":
        text = rows["denied_by"][0]
        return (
            f"; without it {_amount(opens[text], 'decision')} of this history would be allowed"
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
    return f", {_listed([_question(row) for row in largest.iter_rows(named=True)])}"


def _question(row: Mapping[str, str]) -> str:
    return f"{row['operation']} on {row['resource_type']} {row['resource_name']}"


def _listed(texts: Sequence[str]) -> str:
    more = [f"and {len(texts) - LISTED_MAX:,} more"] if len(texts) > LISTED_MAX else []
    return ", ".join([*texts[:LISTED_MAX], *more])


def effects_of_removal(usage: pl.DataFrame) -> dict[str, int]:
    """Return for each DENY how many decisions it alone decided: without it they are allowed."""
    denies = usage.filter(pl.col("permission_type") == "DENY")
    return {
        text_of(binding_of_row(row)): row["decisive_uses"] for row in denies.iter_rows(named=True)
    }


def _removable(unused: pl.DataFrame) -> Iterator[str]:
    going = unused.filter(pl.col("proposal") == "REMOVE").with_columns(count=pl.lit(1))
    if going.is_empty():
        return
    yield f"can be removed: {_amount(len(going), 'ACL')}"
    largest = _largest(going, "principal", PRINCIPALS_MAX)
    for principal, count in largest:
        rows = going.filter(pl.col("principal") == principal).sort(_ORDER).head(LISTED_MAX)
        named = [_short(row) for row in rows.iter_rows(named=True)]
        more = [f"and {count - LISTED_MAX:,} more"] if count > LISTED_MAX else []
        yield f"  of {principal}: {'; '.join([*named, *more])}"
    others = going["principal"].n_unique() - len(largest)
    if others:
        rest = len(going) - sum(count for _, count in largest)
        yield f"  and {_amount(rest, 'ACL')} of {_amount(others, 'other principal')}"


def _held(unused: pl.DataFrame) -> Iterator[str]:
    """Name the unused grants that stay, by the rule that holds them, with an example of each."""
    for proposal, text in (
        ("ASK", "unused, and somebody must be asked first"),
        ("NOT_ENOUGH_EVIDENCE", "unused, without enough evidence"),
    ):
        held = unused.filter(pl.col("proposal") == proposal).with_columns(count=pl.lit(1))
        if held.is_empty():
            continue
        yield f"{text}: {_amount(len(held), 'ACL')}"
        for rule, count in _largest(held, "rule", len(held)):
            row = held.filter(pl.col("rule") == rule).sort(_ORDER).row(0, named=True)
            example = f"{row['principal']}: {_short(row)}: {row['why']}"
            yield f"  {example}" if count == 1 else f"  {count:,}, such as {example}"


def _wide(wide: pl.DataFrame) -> Iterator[str]:
    broad = wide.filter(
        pl.col("excess").list.contains("ALL_NAMES")
        | pl.col("excess").list.contains("ALL_PRINCIPALS")
    )
    if broad.is_empty():
        return
    yield f"for all names or principals: {_amount(len(broad), 'ACL')}"
    for row in broad.sort("uses", *_ORDER).head(LISTED_MAX).iter_rows(named=True):
        times = "once" if row["uses"] == 1 else f"{row['uses']:,} times"
        yield f"  {row['principal']}: {_short(row)}, used {times}"
    if len(broad) > LISTED_MAX:
        yield f"  and {len(broad) - LISTED_MAX:,} more"


def _short(row: Mapping[str, str]) -> str:
    """Return operation and resource of an ACL; a prefix ends with a star."""
    star = "*" if row["pattern_type"] == "PREFIXED" else ""
    host = "" if row["host"] == "*" else f" from {row['host']}"
    return f"{row['operation']} on {row['resource_type']} {row['resource_name']}{star}{host}"


def _largest(frame: pl.DataFrame, by: str, most: int = LISTED_MAX) -> list[tuple[str, int]]:
    found = (
        frame.group_by(by).agg(pl.col("count").sum()).sort(["count", by], descending=[True, False])
    )
    return [(text, int(count)) for text, count in found.head(most).iter_rows()]


def _amount(count: int, unit: str) -> str:
    return f"{count:,} {unit}{'' if count == 1 else 's'}"
