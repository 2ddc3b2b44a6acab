"""Distinct decisions: equal ones are one row with count, first and last time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

DISTINCT = (
    "principal",
    "host",
    "operation",
    "resource_type",
    "resource_name",
    "outcome",
    "api",
    "rule",
    "rule_binding",
    "probe",
)
"""The columns that distinguish decisions without their times.

Jobs that could do with fewer of them ask for all: the decisions are brought together once.
"""

COUNTS = ("count", "first_ts", "last_ts")


class Part(NamedTuple):
    """Distinct decisions that one task reads.

    ``by`` are the columns that distinguish them; empty where the files have each once. ``first``
    and ``end`` bound their numbers; where the end is 0 they are all that the files have.
    """

    files: tuple[str, ...]
    by: tuple[str, ...] = ()
    first: int = 0
    end: int = 0

    def rows(self) -> pl.DataFrame:
        """Return the decisions, with their numbers where these are bounded."""
        found = scan(self.files)
        if self.end:
            found = found.filter(pl.col("bucket").is_between(self.first, self.end, closed="left"))
        if self.by:
            number = ("bucket",) if self.end else ()
            found = distinct(found, (*number, *self.by))
        return found.collect()


def distinct(decisions: pl.LazyFrame, by: Sequence[str] = DISTINCT) -> pl.LazyFrame:
    """Return one row for each distinct combination of the columns, with the counts summed."""
    return decisions.group_by(list(by)).agg(
        pl.col("count").sum(), pl.col("first_ts").min(), pl.col("last_ts").max()
    )


def scan(files: Sequence[str]) -> pl.LazyFrame:
    """Return the rows of files, of which some may have columns that came later."""
    return pl.scan_parquet(
        list(files),
        hive_partitioning=False,
        glob=False,
        missing_columns="insert",
        extra_columns="ignore",
    )


def plain(table: pa.Table) -> pa.Table:
    """Return a table whose texts are plain strings, as Spark gives them too."""
    import pyarrow as pa

    fields = [
        pa.field(field.name, pa.string(), field.nullable)
        if pa.types.is_large_string(field.type) or pa.types.is_string_view(field.type)
        else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
