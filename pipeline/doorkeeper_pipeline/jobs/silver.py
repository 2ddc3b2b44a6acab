"""Bronze to decisions: an hour of a day is one file, made anew from all input files that touch it.

So a file that has grown, or is read again, changes the hours that it had and those that it has, and
nothing else; and a full rebuild gives the same tables.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import polars as pl

from doorkeeper_pipeline.jobs.copies import sum_files
from doorkeeper_pipeline.jobs.sums import write_hour
from doorkeeper_pipeline.tables import contents, places
from doorkeeper_pipeline.tables.delta import DataFile, write_part


@dataclass(frozen=True, slots=True, kw_only=True)
class HourTask:
    """An hour such as 2026-11-22T07, the bronze files that may have rows of it, and the folder.

    ``clusters`` has pairs of an input file and its only cluster: lines of releases that did not
    know clusters have none.
    """

    hour: str
    parts: tuple[str, ...]
    out: str
    clusters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HourResult:
    """The files of an hour, and how many rows break which rules of severity warning.

    For each cluster there are one of decisions and one of distinct ones. ``copied`` are decisions
    that other files have too: they count once.
    """

    hour: str
    parts: tuple[DataFile, ...]
    warnings: tuple[tuple[str, int], ...]
    copied: int = 0


def build_hour(_: None, task: HourTask) -> HourResult:
    """Write the decisions of an hour; the function of the tasks."""
    begin = dt.datetime.fromisoformat(f"{task.hour}:00:00+00:00")
    if not task.parts:
        return HourResult(hour=task.hour, parts=(), warnings=())
    lines = (
        contents.scan("lines", task.parts)
        .filter(pl.col("minute").is_between(begin, begin + dt.timedelta(hours=1), closed="left"))
        .with_columns(
            pl.col("cluster").fill_null(
                pl.col("file_id").replace_strict(
                    dict(task.clusters), default="", return_dtype=pl.String
                )
            )
        )
        .collect()
    )
    rows, copied = sum_files(lines)
    if rows.is_empty():
        return HourResult(hour=task.hour, parts=(), warnings=())
    decisions = contents.as_frame("decisions", rows)
    warnings = contents.check("decisions", decisions)
    parts: list[DataFile] = []
    for (cluster,), found in sorted(decisions.partition_by("cluster", as_dict=True).items()):
        part = write_part(task.out, "decisions", found, places.of_hour(task.hour, str(cluster)))
        parts += (part, write_hour(task.out, found.lazy(), part.path))
    return HourResult(
        hour=task.hour, parts=tuple(parts), warnings=tuple(warnings.items()), copied=copied
    )
