"""The most important findings of a run, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from doorkeeper_pipeline.bindings import FIELDS, binding_of_row, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LISTED_MAX: Final = 3
PRINCIPALS_MAX: Final = 10
"""The principals that are named: the widest grant may be of one with few."""
_ORDER: Final = ("principal", "resource_type", "resource_name", "pattern_type", "operation", "host")

SUMMARIZED: Final = {
    "denied": ("principal", "probe", "count", "reason", "denied_by"),
    "grant_usage": (*FIELDS, "decisive_uses"),
    "unused_grants": (*_ORDER, "proposal", "rule", "why"),
    "overbroad_grants": (*_ORDER, "excess", "uses"),
}
"""The tables that are summarized, and the columns for that."""


def findings_of(tables: Mapping[str, pl.DataFrame]) -> tuple[str, ...]:
    """Return the findings of the gold tables ``SUMMARIZED``, the most frequent first."""
    return (
        *_denials(tables["denied"], tables["grant_usage"]),
        *_removable(tables["unused_grants"]),
        *_held(tables["unused_grants"]),
        *_wide(tables["overbroad_grants"]),
    )


def _denials(denied: pl.DataFrame, usage: pl.DataFrame) -> Iterator[str]:
    """Name each DENY that refuses, the effect of its removal, and principals without an ALLOW."""
    real = denied.filter(~pl.col("probe"))
    total = int(real["count"].sum())
    if not total:
        return
    yield f"refused: {total:,}"
    opens = effects_of_removal(usage)
    for text, count in _largest(real.filter(pl.col("reason") == "DENY"), "denied_by"):
        yield f"  {_percent(count, total)} by one DENY: {text}"
        if text in opens:
            opened = _amount(opens[text], "decision")
            yield f"    without it {opened} of this history would be allowed"
    for principal, count in _largest(real.filter(pl.col("reason") == "NO_ACL"), "principal"):
        yield f"  {_percent(count, total)} because {principal} has no ALLOW for it"


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


def _percent(count: int, total: int) -> str:
    return f"{100 * count // total}%" if count * 100 >= total else "under 1%"
