"""Bronze to decisions: an hour of a day is one file, made anew from all input files that touch it.

So a file that has grown, or is read again, changes the hours that it had and those that it has, and
nothing else; and a full rebuild gives the same tables.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from doorkeeper_pipeline.sources.parsed import KEY
from doorkeeper_pipeline.tables import contents


@dataclass(frozen=True, slots=True, kw_only=True)
class HourTask:
    """An hour such as 2026-11-22T07, the bronze files that may have rows of it, and its file."""

    hour: str
    parts: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HourResult:
    """How many rows the hour has, and which rules of severity warning how many of them break."""

    hour: str
    rows: int
    warnings: tuple[tuple[str, int], ...]


def build_hour(_: None, task: HourTask) -> HourResult:
    """Write the decisions of an hour; the function of the tasks."""
    begin = dt.datetime.fromisoformat(f"{task.hour}:00:00+00:00")
    if not task.parts:
        return HourResult(hour=task.hour, rows=0, warnings=())
    rows = (
        pl.scan_parquet(list(task.parts), hive_partitioning=False, glob=False)
        .filter(pl.col("minute").is_between(begin, begin + dt.timedelta(hours=1), closed="left"))
        .group_by(list(KEY))
        .agg(pl.col("count").sum(), pl.col("first_ts").min(), pl.col("last_ts").max())
        .sort(list(KEY))
        .collect()
    )
    if rows.is_empty():
        return HourResult(hour=task.hour, rows=0, warnings=())
    decisions = contents.as_frame("decisions", rows)
    warnings = contents.check("decisions", decisions)
    contents.write(decisions, Path(task.target))
    return HourResult(hour=task.hour, rows=len(decisions), warnings=tuple(warnings.items()))
