"""Distinct decisions: equal ones are one row with count, first and last time."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from doorkeeper_pipeline.engines.contract import DISTINCT

COUNTS = ("count", "first_ts", "last_ts")


def distinct(decisions: pl.LazyFrame, by: Sequence[str] = DISTINCT) -> pl.LazyFrame:
    """Return one row for each distinct combination of the columns, with the counts summed."""
    return decisions.group_by(list(by)).agg(
        pl.col("count").sum(), pl.col("first_ts").min(), pl.col("last_ts").max()
    )
