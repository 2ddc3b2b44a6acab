"""Bronze to decisions: a day is made anew from all input files that touch it.

So a file that has grown, or is read again, changes the days that it had and those that it has, and
nothing else; and a full rebuild gives the same tables. A day of many lines is cut into equal spans
of time, a task and a file each.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.jobs.copies import sum_files
from doorkeeper_pipeline.jobs.sums import write_distinct
from doorkeeper_pipeline.tables import contents, places
from doorkeeper_pipeline.tables.delta import DataFile, write_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LINES_A_SPAN = 2_000_000
"""Rows of the table ``lines`` that a task should read at most: about 0.5 GB of memory."""

SPANS = (1, 2, 3, 4, 6, 8, 12, 24, 48, 96, 144, 288, 720, 1440)
"""How many spans a day may have: each is whole minutes, and whole hours or a part of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DayTask:
    """A span of a day: the ``number``-th of ``spans``.

    ``parts`` are the bronze files that may have rows of it, ``out`` is the output folder.
    ``clusters`` has pairs of an input file and its only cluster: lines of releases that did not
    know clusters have none.
    """

    day: str
    number: int
    spans: int
    parts: tuple[str, ...]
    out: str
    clusters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DayResult:
    """The files of a span of a day, and how many rows break which rules of severity warning.

    For each cluster there are one of decisions and one of distinct ones. ``copied`` are decisions
    that other files have too: they count once.
    """

    day: str
    parts: tuple[DataFile, ...] = ()
    warnings: tuple[tuple[str, int], ...] = ()
    copied: int = 0


def tasks_of(
    day: str, parts: Sequence[str], lines: int, out: str, clusters: tuple[tuple[str, str], ...]
) -> Iterator[DayTask]:
    """Yield the tasks of a day, which has about so many lines."""
    spans = next((each for each in SPANS if lines <= each * LINES_A_SPAN), SPANS[-1])
    for number in range(spans):
        yield DayTask(
            day=day, number=number, spans=spans, parts=tuple(parts), out=out, clusters=clusters
        )


def build_day(_: None, task: DayTask) -> DayResult:
    """Write the decisions of a span of a day; the function of the tasks."""
    if not task.parts:
        return DayResult(day=task.day)
    length = dt.timedelta(days=1) / task.spans
    begin = dt.datetime.fromisoformat(f"{task.day}T00:00:00+00:00") + task.number * length
    lines = (
        contents.scan("lines", task.parts)
        .filter(pl.col("minute").is_between(begin, begin + length, closed="left"))
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
        return DayResult(day=task.day)
    decisions = contents.as_frame("decisions", rows)
    warnings = contents.check("decisions", decisions)
    parts: list[DataFile] = []
    for (cluster,), found in sorted(decisions.partition_by("cluster", as_dict=True).items()):
        name = places.of_span(task.day, task.number, str(cluster))
        part = write_part(task.out, "decisions", found, name)
        parts += (part, write_distinct(task.out, found.lazy(), part.path))
    return DayResult(
        day=task.day, parts=tuple(parts), warnings=tuple(warnings.items()), copied=copied
    )
