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
from doorkeeper_pipeline.schemas import TABLES

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
    found = frame.group_by(column).agg(pl.len().alias("rows")).collect()
    return {str(row[column]): int(row["rows"]) for row in found.to_dicts()}


def place_of(table: str) -> str:
    """Return where all rows of a table are, below the folder of the tables.

    The path of the machine on which the page was made has no use for its readers.
    """
    return f"{TABLES[table].layer}/{table}"


def resource_of(row: Row) -> Resource:
    pattern_type = row.get("pattern_type") or ""
    return Resource(row["resource_type"], row["resource_name"], pattern_type)


def names_of(those: Iterable[str], count: int | None = None) -> Names:
    """Return names and of how many they are the first."""
    found = tuple(those)
    return Names(found, len(found) if count is None else count)


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
