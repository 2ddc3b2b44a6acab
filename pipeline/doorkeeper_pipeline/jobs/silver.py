"""Bronze to decisions: spans of a day are made anew from all input files that touch them.

So a file that has grown, or is read again, changes the spans that it had and those that it has, and
nothing else; and a full rebuild gives the same tables. A day of many lines is cut into equal spans
of time, a task and a file each.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from doorkeeper_pipeline.jobs import merged
from doorkeeper_pipeline.jobs.copies import sum_files
from doorkeeper_pipeline.jobs.sums import write_distinct
from doorkeeper_pipeline.tables import contents, places
from doorkeeper_pipeline.tables.delta import Change, DataFile, write_part

FileRow = Mapping[str, Any]

LINES_A_SPAN = 25_000
"""Rows of the table ``lines`` that a span should have: so few are made anew for new ones."""

LINES_MAX = 2_000_000
"""Rows of a span of an hour or less: about 0.5 GB of memory. Copies are found within one."""

SPANS = (1, 2, 3, 4, 6, 8, 12, 24, 48, 96, 144, 288, 720, 1440)
"""How many spans a day may have: each is whole minutes, and whole hours or a part of one."""

HOURS = 24


class Times(NamedTuple):
    """The first and the last time of some decisions."""

    first: dt.datetime
    last: dt.datetime

    def meet(self, span: Times) -> bool:
        """Return whether decisions of these times may be in a span."""
        return self.first < span.last and self.last >= span.first


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanTask:
    """A span of a day: the ``number``-th of ``spans``.

    ``parts`` are the bronze files that may have rows of it.
    """

    day: str
    number: int
    spans: int
    parts: tuple[str, ...]


def changed_spans(
    change: Change, rows: Iterable[FileRow], files: Mapping[str, FileRow], unnamed: Iterable[str]
) -> Iterator[SpanTask]:
    """Yield the tasks of spans that have decisions of some rows; remove what these spans were.

    ``rows`` are of the table files, as it was and as it will be, ``files`` all that it will have.
    Days that are ``unnamed`` are made anew whole.
    """
    changed: dict[str, list[Times]] = {day: [_whole(day)] for day in unnamed}
    for row in rows:
        for day in row["days"]:
            changed.setdefault(day, []).append(Times(row["first_ts"], row["last_ts"]))
    before = {places.day_of(part.path): part.path for part in change.tables.parts("decisions")}
    of_days = _files_of_days(change, files, changed.keys())
    for day, times in sorted(changed.items()):
        cut = places.spans_of(before[day]) if day in before else 0
        spans = _spans_for(sum(file.lines for file in of_days[day]), cut)
        if spans != cut:
            change.remove("decisions", places.of_day(day))
        for number in range(spans):
            span = _span(day, number, spans)
            if spans == cut and not any(time.meet(span) for time in times):
                continue
            change.remove("decisions", places.of_span(day, number, spans))
            parts = [part for file in of_days[day] if file.times.meet(span) for part in file.parts]
            yield SpanTask(day=day, number=number, spans=spans, parts=tuple(parts))


def _files_of_days(
    change: Change, files: Mapping[str, FileRow], days: Iterable[str]
) -> dict[str, list[_DayFile]]:
    """Return the files that have decisions of some days."""
    of_days: dict[str, list[_DayFile]] = {day: [] for day in days}
    for file_id, row in sorted(files.items()):
        touched = of_days.keys() & set(row["days"])
        parts = change.parts("lines", places.of_file(file_id)) if touched else []
        lines = sum(part.rows for part in parts)
        for day in touched:
            of_days[day].append(
                _DayFile(
                    Times(row["first_ts"], row["last_ts"]),
                    tuple(map(change.tables.place_of, parts)),
                    lines // len(row["days"]),
                )
            )
    for part in merged.of_days(change, of_days.keys()):
        first, last = places.days_of_merged(part.path)
        times = Times(_whole(first).first, _whole(last).last)
        locations = (change.tables.place_of(part),)
        length = (times.last - times.first).days
        for day in (day for day in of_days if first <= day <= last):
            of_days[day].append(_DayFile(times, locations, part.rows // length))
    return of_days


def build_span(out: str, task: SpanTask) -> tuple[list[DataFile], int]:
    """Write the decisions of a span of a day; the function of the tasks.

    Return its files, for each cluster one of decisions and one of distinct ones, and the number of
    decisions that other files have too: they count once.
    """
    if not task.parts:
        return [], 0
    begin, end = _span(task.day, task.number, task.spans)
    lines = (
        contents.scan("lines", task.parts)
        .filter(pl.col("minute").is_between(begin, end, closed="left"))
        .collect()
    )
    rows, copied = sum_files(lines)
    if rows.is_empty():
        return [], 0
    decisions = contents.as_frame("decisions", rows)
    contents.check("decisions", decisions)
    parts: list[DataFile] = []
    for (cluster,), frame in sorted(decisions.partition_by("cluster", as_dict=True).items()):
        name = places.of_span(task.day, task.number, task.spans, str(cluster))
        part = write_part(out, "decisions", frame, name)
        parts += (part, write_distinct(out, frame.lazy(), part.path))
    return parts, copied


class _DayFile(NamedTuple):
    """An input file: the times of its decisions, its bronze files, and its lines of a day."""

    times: Times
    parts: tuple[str, ...]
    lines: int


def _span(day: str, number: int, spans: int) -> Times:
    """Return when a span of a day begins, and when the next one does."""
    length = dt.timedelta(days=1) / spans
    begin = dt.datetime.fromisoformat(f"{day}T00:00:00+00:00") + number * length
    return Times(begin, begin + length)


def _whole(day: str) -> Times:
    return _span(day, 0, 1)


def _spans_for(lines: int, before: int) -> int:
    """Return into how many spans a day of so many lines is cut.

    It stays cut as it was ``before``, 0 for not at all, until it is twice as long as that is for.
    """
    if before and lines <= 2 * before * _lines_of(before):
        return before
    return next((count for count in SPANS if lines <= count * _lines_of(count)), SPANS[-1])


def _lines_of(spans: int) -> int:
    return LINES_A_SPAN if spans < HOURS else LINES_MAX
