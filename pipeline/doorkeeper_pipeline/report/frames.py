"""Queries of the report on tables: numbers of rows, the first rows in some order.

Tables are Polars' lazy frames, so that a history that does not fit into memory is read in pieces
and only the rows on the page are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from doorkeeper_pipeline.evaluation.severity import BROAD, SEVERITIES
from doorkeeper_pipeline.report.model import Names, Resource, Tag

Frames = Mapping[str, pl.LazyFrame]
"""Tables by name; one that was not made is not there."""

Row = dict[str, Any]
Order = list[str | pl.Expr]


def count_of(frame: pl.LazyFrame) -> int:
    return int(frame.select(pl.len()).collect(engine="streaming").item())


def first_of(frame: pl.LazyFrame, by: Order, limit: int) -> list[Row]:
    """Return the first rows in the order of some columns; give them all, for the order to hold."""
    return frame.sort(by, maintain_order=True).head(limit).collect().to_dicts()


def counts_by(frame: pl.LazyFrame, column: str) -> dict[str, int]:
    """Return how many rows have each value of a column."""
    return dict(frame.group_by(column).len().collect().iter_rows())


def resource_of(row: Row) -> Resource:
    return Resource(row["resource_type"], row["resource_name"], row.get("pattern_type") or "")


def names_of(those: Iterable[str], count: int | None = None) -> Names:
    """Return names and of how many they are the first."""
    names = tuple(those)
    return Names(names, len(names) if count is None else count)


def permission_of(row: Row) -> Tag:
    """Return the effect of a binding: allows or denies."""
    denies = row["permission_type"] == "DENY"
    return Tag("deny" if denies else "allow", strong=denies)


def severity_of(severity: str | None) -> Tag | None:
    """Return the severity of a grant; None in tables of a release that did not know it."""
    if not severity:
        return None
    rank = SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)
    return Tag(severity.lower(), strong=severity in BROAD, rank=rank)
