"""Small files of lines become few: those of input files that do not change any more.

A merged file has all lines of several input files, and has the first and the last of their days in
its path. Days are made anew from it as from the files that it replaces. Where one of its input
files is read again, it is written without the lines of that.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.tables import contents, places
from doorkeeper_pipeline.tables.delta import Change, DataFile, write_part

TABLE = "lines"
ROWS_MAX = 1_000_000
"""Rows of a merged file, about: 250 MB of memory."""

FEWEST = 4
"""Fewer files are not merged."""

QUIET = dt.timedelta(days=2)
"""An input file whose last decision is younger may grow."""


MergeTask = tuple[Sequence[DataFile], str]
"""Files that become one, and the beginning of its path."""


def of_days(change: Change, days: Collection[str]) -> list[DataFile]:
    """Return the merged files that may have lines of some days."""
    parts = []
    for part in change.parts(TABLE, places.MERGED):
        first, last = places.days_of_merged(part.path)
        if any(first <= day <= last for day in days):
            parts.append(part)
    return parts


def take_out(change: Change, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write merged files without the lines of input files, given by their rows of table files."""
    known = list(rows)
    file_ids = [row["file_id"] for row in known]
    for part in of_days(change, {day for row in known for day in row["days"]}):
        location = change.tables.place_of(part)
        lines = contents.read_files(change.tables.root, TABLE, [location])
        remaining = lines.filter(~pl.col("file_id").is_in(file_ids))
        if len(remaining) == len(lines):
            continue
        change.remove(TABLE, part.path)
        if len(remaining):
            name = part.path.rpartition("-")[0]
            change.add([write_part(change.tables.root, TABLE, remaining, name)])


def merge(change: Change, engine: Engine, files: pl.DataFrame, now: dt.datetime) -> tuple[int, int]:
    """Merge files of lines; return how many there were of those, and how many there are."""
    tasks = list(_tasks(change, files.filter(pl.col("last_ts") < now - QUIET)))
    old = [part for parts, _ in tasks for part in parts]
    for part in old:
        change.remove(TABLE, part.path)
    change.add(engine.map(merge_files, tasks, change.tables.root))
    return len(old), len(tasks)


def merge_files(root: str, task: MergeTask) -> DataFile:
    """Write files as one; the function of the tasks."""
    parts, name = task
    lines = contents.read_files(root, TABLE, [part.place_in(root) for part in parts])
    return write_part(root, TABLE, lines.sort("minute", "file_id"), name)


def _tasks(change: Change, files: pl.DataFrame) -> Iterator[MergeTask]:
    """Yield groups of files whose lines begin on one day."""
    stored = {part.path for part in change.tables.parts(TABLE)}
    for _, rows in files.sort("first_ts", "file_id").group_by(
        pl.col("first_ts").dt.date(), maintain_order=True
    ):
        group: list[DataFile] = []
        days: set[str] = set()
        for row in rows.iter_rows(named=True):
            parts = change.parts(TABLE, places.of_file(row["file_id"]))
            if not stored.issuperset(part.path for part in parts):
                continue  # written by this change
            if group and sum(part.rows for part in (*group, *parts)) > ROWS_MAX:
                yield from _task(group, days)
                group, days = [], set()
            group += parts
            days |= set(row["days"]) if parts else set()
        yield from _task(group, days)


def _task(group: list[DataFile], days: set[str]) -> Iterator[MergeTask]:
    if len(group) >= FEWEST:
        yield group, places.of_merged(min(days), max(days))
