"""The most important findings of a run, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SUMMARIZED: Final = ("denied", "unused_grants", "overbroad_grants")
"""The tables that are summarized."""

LISTED_MAX: Final = 3


def findings_of(tables: Mapping[str, pl.DataFrame]) -> tuple[str, ...]:
    """Return the findings of the gold tables ``SUMMARIZED``, the most frequent first."""
    return (
        *_denials(tables["denied"]),
        *_removable(tables["unused_grants"]),
        *_wide(tables["overbroad_grants"]),
    )


def _denials(denied: pl.DataFrame) -> Iterator[str]:
    """Name each DENY that refuses, then principals that lack an ALLOW."""
    real = denied.filter(~pl.col("probe"))
    total = int(real["count"].sum())
    if not total:
        return
    yield f"refused: {total:,}"
    denies = real.filter(pl.col("reason") == "DENY")
    for text, count in _largest(denies, "denied_by"):
        yield f"  {_percent(count, total)} by one DENY: {text}"
    for principal, count in _largest(real.filter(pl.col("reason") == "NO_ACL"), "principal"):
        yield f"  {_percent(count, total)} because {principal} has no ALLOW for it"


def _removable(unused: pl.DataFrame) -> Iterator[str]:
    going = unused.filter(pl.col("proposal") == "REMOVE").with_columns(count=pl.lit(1))
    if going.is_empty():
        return
    yield f"can be removed: {len(going):,} ACLs"
    for principal, count in _largest(going, "principal"):
        yield f"  {count:,} of {principal}"


def _wide(wide: pl.DataFrame) -> Iterator[str]:
    broad = wide.filter(
        pl.col("excess").list.contains("ALL_NAMES")
        | pl.col("excess").list.contains("ALL_PRINCIPALS")
    )
    if broad.is_empty():
        return
    yield f"for all names or principals: {len(broad):,} ACLs"
    order = ["uses", "principal", "resource_type", "resource_name", "operation"]
    for row in broad.sort(order).head(LISTED_MAX).iter_rows(named=True):
        yield (
            f"  {row['principal']}: {row['operation']} on {row['resource_type']}"
            f" {row['resource_name'] or '(empty prefix)'}, used {row['uses']:,} times"
        )


def _largest(frame: pl.DataFrame, by: str) -> list[tuple[str, int]]:
    found = (
        frame.group_by(by).agg(pl.col("count").sum()).sort(["count", by], descending=[True, False])
    )
    return [(text, int(count)) for text, count in found.head(LISTED_MAX).iter_rows()]


def _percent(count: int, total: int) -> str:
    return f"{100 * count / total:.0f}%" if count * 200 >= total else "under 1%"
