"""Distinct decisions with their counts: the partial aggregates of which gold tables are made.

The table ``distinct_decisions`` has them for three kinds of spans:

    days/2026-11-22/0000of0001-*   a file of decisions, made with it and named for it
    before/0000of0004-*            all days before one, so that old days are not read again
    all/0000of0004-*               the whole history

A file is of one cluster: that of a day as its decisions, and the others are in ``before~<mark>/``
and ``all~<mark>/`` where the cluster has a name.

Rows have a number by principal and resource name, and stand in its order. Old days and the whole
history are cut into equal parts of these numbers, a file and a task each, which reads of other
files what has numbers of its part. Where days only came, they are added to the sum of the whole
history: a part in which nothing is new stays as it is. Where one of the last two days has changed,
these days are added to ``before``; where an older one has, the days are summed up anew. Decisions
are not read again for that. What a sum covers is kept with the run (``Covered``): files of
decisions have random names and never change, so a digest of their names says whether it still
holds.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import polars as pl

from doorkeeper_pipeline.jobs.distinct import COUNTS, DISTINCT, distinct
from doorkeeper_pipeline.tables import contents, places
from doorkeeper_pipeline.tables.delta import DataFile, write_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from doorkeeper_pipeline.engines.contract import Engine, Task
    from doorkeeper_pipeline.jobs.belonging import Cluster
    from doorkeeper_pipeline.tables.delta import Change, Tables

TABLE = "distinct_decisions"
BUCKET = "bucket"
BUCKETS = 4096
"""How many numbers of principals and resource names there are."""

ROWS_A_PART = 1 << 15
"""How many rows a part should have: many tasks, each of which pays for its start."""

ROWS_A_GROUP = 1 << 13
"""Rows of a group of a file: what a task reads at least of each file."""

OPEN_DAYS = 1
"""How many days before the newest one change so often that ``before`` leaves them out."""

_DAYS = "days/"
_BEFORE, _ALL = "before", "all"


class Covered(NamedTuple):
    """The day before which the sum of old days is, and digests of what the two sums cover."""

    day: str = ""
    before: str = ""
    all: str = ""

    def text(self) -> str:
        """Return it as it is kept with a run."""
        return " ".join(self)


def covered_by(digests: Mapping[str, str]) -> Covered:
    """Return what the sums of a run cover, by the digests that are kept with it."""
    return Covered(*digests.get(TABLE, "  ").split(" "))


class DecisionsFile(NamedTuple):
    """A file of decisions: its path below the table's folder, and where it is."""

    path: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SumTask:
    """A part of a sum: what it was, files of which some rows are added, and the name of its file.

    ``was`` is empty, or the file of the same part, which stays where nothing is added to it.
    """

    was: str
    files: tuple[str, ...]
    span: str
    name: str
    first: int
    end: int


class _Sum(NamedTuple):
    """Files of distinct decisions, and the paths of the decisions that they cover."""

    parts: tuple[DataFile, ...]
    covered: frozenset[str]


_NOTHING = _Sum((), frozenset())


def write_distinct(out: str, decisions: pl.LazyFrame, path: str) -> DataFile:
    """Write the distinct decisions of the file of decisions at that path."""
    rows = distinct(decisions).collect()
    number = _numbers(rows["principal"]) * 31 + _numbers(rows["resource_name"])
    return _write(
        out, rows.with_columns(bucket=number % BUCKETS), places.day_of(path), _name_of(path)
    )


def sum_file(out: str, file: DecisionsFile) -> DataFile:
    """Write the distinct decisions of a file of decisions: the function of the tasks."""
    return write_distinct(out, contents.scan("decisions", [file.place]), file.path)


def sum_part(out: str, task: SumTask) -> DataFile | None:
    """Write a part of a sum, or nothing where it stays: the function of the tasks."""
    columns = (BUCKET, *DISTINCT, *COUNTS)
    of_it = pl.col(BUCKET).is_between(task.first, task.end, closed="left")
    rows = contents.scan(TABLE, task.files).filter(of_it).select(columns).collect()
    if rows.is_empty():
        return None
    if task.was:
        rows = pl.concat([contents.scan(TABLE, [task.was]).select(columns).collect(), rows])
    found = distinct(rows.lazy(), (BUCKET, *DISTINCT)).collect()
    return _write(out, found, task.span, task.name)


def up_to_date(
    change: Change, engine: Engine, today: dt.date, cluster: Cluster, last: Covered
) -> tuple[tuple[str, ...], Covered]:
    """Return the files of the distinct decisions of a cluster's whole history; make missing ones.

    ``today`` is the last day (UTC) that may be in the past: later ones are mistakes of clocks.
    ``last`` is what the sums of the last run cover, and the result says it of those of this one.
    """
    decisions = cluster.files_of(change.parts("decisions"))
    found = change.parts(TABLE, _folder_of(_ALL, cluster.name))
    if last.all != _digest(part.path for part in decisions) or (decisions and not found):
        sums = _Sums(change, engine, today, cluster, last)
        found, last = sums.renew(), sums.covered
    return tuple(change.tables.place_of(part) for part in found), last


def files_of(tables: Tables, cluster: Cluster) -> tuple[str, ...]:
    """Return the files of the distinct decisions of a cluster's whole history.

    There are none if they are not up to date: where the last run was for another cluster.
    """
    decisions = _digest(part.path for part in cluster.files_of(tables.parts("decisions")))
    kept = cluster.own(tables.read("runs"))["digests"].drop_nulls().to_list()
    if not kept or covered_by(json.loads(kept[-1])).all != decisions:
        return ()
    return tuple(tables.files(TABLE, _folder_of(_ALL, cluster.name)))


def drop(change: Change, paths: Iterable[str]) -> None:
    """Remove the sums that cover files of decisions at some paths; the next run makes them anew."""
    names = set(map(_name_of, paths))
    for part in change.parts(TABLE):
        if not part.path.startswith(_DAYS) or _before_random(part.path) in names:
            change.remove(TABLE, part.path)


class _Sums:
    """Makes the sums that a change of a cluster's decisions asks for."""

    def __init__(
        self, change: Change, engine: Engine, today: dt.date, cluster: Cluster, last: Covered
    ) -> None:
        self._change = change
        self._engine = engine
        self._cluster = cluster
        self.covered = last
        self._files = self._renew_files()
        self._days = sorted({places.day_of(path) for path in self._files})
        self._today = today.isoformat()

    def renew(self) -> list[DataFile]:
        """Return the files of the sum of the whole history, which are made."""
        before = self._renew_before()
        beginning = max(self._last_all(), before, key=lambda each: len(each.covered))
        paths = sorted(self._files)
        self.covered = self.covered._replace(all=_digest(paths))
        return self._replace(_ALL, "all", beginning, paths)

    def _renew_files(self) -> dict[str, DataFile]:
        """Return the distinct decisions of each file of decisions, by its path; make new ones.

        They are made of all clusters, and those of the cluster are returned.
        """
        change = self._change
        there = {_before_random(part.path): part for part in change.parts(TABLE, _DAYS)}
        decisions = {_name_of(part.path): part for part in change.parts("decisions")}
        for name in there.keys() - decisions.keys():
            change.remove(TABLE, there.pop(name).path)
        missing = [
            DecisionsFile(part.path, change.tables.place_of(part))
            for name, part in decisions.items()
            if name not in there
        ]
        made = self._map(sum_file, missing)
        there.update((_before_random(part.path), part) for part in made)
        own = self._cluster.files_of(change.parts("decisions"))
        return {part.path: there[_name_of(part.path)] for part in own}

    def _last_all(self) -> _Sum:
        """Return the sum of the last run if each file that it covers is as it was."""
        tables = self._change.tables
        covered = [part.path for part in self._cluster.files_of(tables.parts("decisions"))]
        parts = tables.parts(TABLE, _folder_of(_ALL, self._cluster.name))
        as_it_was = self.covered.all == _digest(covered) and self._files.keys() >= set(covered)
        return _Sum(tuple(parts), frozenset(covered)) if parts and as_it_was else _NOTHING

    def _renew_before(self) -> _Sum:
        """Return the sum of all days before one, with another day if that is too long ago."""
        day = self.covered.day
        last = self._last_before(day)
        past = [each for each in self._days if each <= self._today]
        newest = dt.date.fromisoformat(past[-1] if past else self._today)
        wanted = (newest - dt.timedelta(days=OPEN_DAYS)).isoformat()
        paths = self._paths_before(wanted)
        if (last.parts and day >= wanted) or not paths:
            return last
        self.covered = self.covered._replace(day=wanted, before=_digest(paths))
        parts = self._replace(_BEFORE, f"before {wanted}", last, paths)
        return _Sum(tuple(parts), frozenset(paths))

    def _last_before(self, day: str) -> _Sum:
        """Return the sum of old days if it still holds."""
        paths = self._paths_before(day)
        parts = self._change.tables.parts(TABLE, _folder_of(_BEFORE, self._cluster.name))
        holds = parts and self.covered.before == _digest(paths)
        return _Sum(tuple(parts), frozenset(paths)) if holds else _NOTHING

    def _paths_before(self, day: str) -> list[str]:
        return sorted(path for path in self._files if places.day_of(path) < day)

    def _replace(self, kind: str, span: str, beginning: _Sum, paths: list[str]) -> list[DataFile]:
        """Make the sum of a kind that of the files of some paths; return its files."""
        folder = _folder_of(kind, self._cluster.name)
        more = [self._files[path] for path in paths if path not in beginning.covered]
        rows = sum(part.rows for part in (*beginning.parts, *more))
        own = {_before_random(each.path): each for each in beginning.parts}
        cut = places.spans_of(beginning.parts[0].path) if _is_in(folder, beginning) else 0
        count = cut if rows <= 2 * cut * ROWS_A_PART else _power_of_two(rows / ROWS_A_PART)
        stays = own if count == cut else {}
        added = more if stays else [*beginning.parts, *more]
        files = tuple(map(self._change.tables.place_of, added))
        tasks = []
        for number in range(count):
            name = f"{folder}{number:04}of{count:04}"
            was = self._change.tables.place_of(stays[name]) if name in stays else ""
            first, end = (BUCKETS * each // count for each in (number, number + 1))
            tasks.append(SumTask(was=was, files=files, span=span, name=name, first=first, end=end))
        made = self._map(sum_part, tasks)
        new = {_before_random(part.path) for part in made}
        self._remove(kind, stays.keys() - new)
        return self._change.parts(TABLE, folder)

    def _remove(self, kind: str, staying: Iterable[str]) -> None:
        """Remove sums of a kind, but for parts that stay, and for those of other clusters.

        Those of the time when the cluster had another name, or none, go too.
        """
        others = {
            _folder_of(kind, name) for name in self._cluster.ids if name != self._cluster.name
        }
        for part in self._change.tables.parts(TABLE, kind):
            is_other = f"{part.path.partition('/')[0]}/" in others
            if not is_other and _before_random(part.path) not in staying:
                self._change.remove(TABLE, part.path)

    def _map(
        self, function: Callable[[str, Task], DataFile | None], tasks: Sequence[Task]
    ) -> list[DataFile]:
        found = self._engine.map(function, tasks, self._change.tables.root)
        made = [part for part in found if part is not None]
        self._change.add(made)
        return made


def _write(out: str, rows: pl.DataFrame, span: str, name: str) -> DataFile:
    rows = rows.sort(BUCKET, *DISTINCT).with_columns(span=pl.lit(span))
    return write_part(out, TABLE, contents.as_frame(TABLE, rows), name, ROWS_A_GROUP)


def _numbers(texts: pl.Series) -> pl.Series:
    """Return a number for each text that no release changes."""
    values = texts.unique()
    numbers = pl.Series([crc32(each.encode()) for each in values], dtype=pl.Int64)
    return texts.replace_strict(values, numbers)


def _is_in(folder: str, beginning: _Sum) -> bool:
    return bool(beginning.parts) and beginning.parts[0].path.startswith(folder)


def _power_of_two(least: float) -> int:
    count = 1
    while count < min(least, BUCKETS):
        count *= 2
    return count


def _folder_of(kind: str, cluster: str) -> str:
    return f"{kind}{places.mark_of(cluster)}/"


def _name_of(path: str) -> str:
    return f"{_DAYS}{path.removeprefix(places.DAY).removesuffix('.parquet')}"


def _before_random(path: str) -> str:
    """Return the beginning of a file's path that ``write_part`` was given."""
    return path.rpartition("-")[0]


def _digest(paths: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(paths)).encode()).hexdigest()
