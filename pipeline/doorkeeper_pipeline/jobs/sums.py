"""Distinct decisions with their counts: the partial aggregates of which gold tables are made.

The table ``distinct_decisions`` has them for three kinds of spans:

    days/2026-11-22/00-<...>     a file of decisions of a day, made with it and named for it
    before/2026-11-21/<digest>/  all days before one, so that old days are not read again
    all/<digest>/                the whole history

A file is of one cluster: that of a day as its decisions, and the others are in ``before~<mark>/``
and ``all~<mark>/`` where the cluster has a name.

Files of decisions have random names and never change, so a digest of the names of the files that a
sum covers says whether it still holds. Where days only came, they are added to the sum of the whole
history. Where one of the last two days has changed, these days are added to ``before``; where an
older one has, the days are summed up anew. Decisions are not read again for that.

A sum of many rows is cut into buckets by principal and resource name, a task each.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from doorkeeper_pipeline.engines.contract import DISTINCT
from doorkeeper_pipeline.engines.tuples import COUNTS, distinct
from doorkeeper_pipeline.tables import contents, places
from doorkeeper_pipeline.tables.delta import DataFile, write_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from doorkeeper_pipeline.engines.contract import Engine, Task
    from doorkeeper_pipeline.jobs.belonging import Cluster
    from doorkeeper_pipeline.tables.delta import Change, Tables

TABLE = "distinct_decisions"

ROWS_A_BUCKET = 4_000_000
"""How many rows a task adds up at most, on average: about 1 GB of memory."""

OPEN_DAYS = 1
"""How many days before the newest one change so often that ``before`` leaves them out."""

_DAYS = "days/"
_BEFORE, _ALL = "before", "all"
_DIGEST_LENGTH = 16


class DecisionsFile(NamedTuple):
    """A file of decisions: its path below the table's folder, and where it is."""

    path: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SumTask:
    """A bucket of a sum: the files that are added up, and the name of the new one."""

    files: tuple[str, ...]
    span: str
    name: str
    bucket: int
    buckets: int


class _Sum(NamedTuple):
    """Files of distinct decisions, and the paths of the decisions that they cover."""

    parts: tuple[DataFile, ...]
    covered: frozenset[str]


_NOTHING = _Sum((), frozenset())


def write_distinct(out: str, decisions: pl.LazyFrame, path: str) -> DataFile:
    """Write the distinct decisions of the file of decisions at that path."""
    rows = distinct(decisions).sort(DISTINCT).collect()
    return _write(out, rows, places.day_of(path), _name_of(path))


def sum_file(out: str, file: DecisionsFile) -> DataFile:
    """Write the distinct decisions of a file of decisions: the function of the tasks."""
    return write_distinct(out, contents.scan("decisions", [file.place]), file.path)


def sum_bucket(out: str, task: SumTask) -> DataFile:
    """Write a bucket of a sum: the function of the tasks."""
    rows = contents.scan(TABLE, task.files)
    if task.buckets > 1:
        key = pl.struct("principal", "resource_name").hash(seed=0)
        rows = rows.filter(key % task.buckets == task.bucket)
    found = distinct(rows.select(*DISTINCT, *COUNTS)).sort(DISTINCT).collect()
    return _write(out, found, task.span, task.name)


def up_to_date(change: Change, engine: Engine, today: dt.date, cluster: Cluster) -> tuple[str, ...]:
    """Return the files of the distinct decisions of a cluster's whole history; make missing ones.

    ``today`` is the last day (UTC) that may be in the past: later ones are mistakes of clocks.
    """
    decisions = [part.path for part in cluster.files_of(change.parts("decisions"))]
    found = change.parts(TABLE, _sum_name(_folder_of(_ALL, cluster.name), decisions))
    if not found and decisions:
        found = _Sums(change, engine, today, cluster).renew()
    return tuple(change.tables.place_of(part) for part in found)


def files_of(tables: Tables, cluster: Cluster) -> tuple[str, ...]:
    """Return the files of the distinct decisions of a cluster's whole history.

    There are none if they are not up to date: where the last run was of a release that did not know
    them, or for another cluster.
    """
    decisions = [part.path for part in cluster.files_of(tables.parts("decisions"))]
    return tuple(tables.files(TABLE, _sum_name(_folder_of(_ALL, cluster.name), decisions)))


def drop(change: Change, paths: Iterable[str]) -> None:
    """Remove the sums that cover files of decisions at some paths; the next run makes them anew."""
    names = set(map(_name_of, paths))
    for part in change.parts(TABLE):
        if not part.path.startswith(_DAYS) or _before_random(part.path) in names:
            change.remove(TABLE, part.path)


class _Sums:
    """Makes the sums that a change of a cluster's decisions asks for."""

    def __init__(self, change: Change, engine: Engine, today: dt.date, cluster: Cluster) -> None:
        self._change = change
        self._engine = engine
        self._cluster = cluster
        self._before = _folder_of(_BEFORE, cluster.name)
        self._all = _folder_of(_ALL, cluster.name)
        self._files = self._renew_files()
        self._days = sorted({places.day_of(path) for path in self._files})
        self._today = today.isoformat()

    def renew(self) -> list[DataFile]:
        """Return the files of the sum of the whole history, which are made."""
        before = self._renew_before()
        beginning = max(self._last_all(), before, key=lambda each: len(each.covered))
        paths = sorted(self._files)
        return self._replace(_ALL, "all", _sum_name(self._all, paths), beginning, paths)

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
        parts = tables.parts(TABLE, _sum_name(self._all, covered))
        if not parts or not self._files.keys() >= set(covered):
            return _NOTHING
        return _Sum(tuple(parts), frozenset(covered))

    def _renew_before(self) -> _Sum:
        """Return the sum of all days before one, with another day if that is too long ago."""
        last, day = self._last_before()
        past = [each for each in self._days if each <= self._today]
        newest = dt.date.fromisoformat(past[-1] if past else self._today)
        wanted = (newest - dt.timedelta(days=OPEN_DAYS)).isoformat()
        paths = sorted(path for path in self._files if places.day_of(path) < wanted)
        if day >= wanted or not paths:
            return last
        name = _sum_name(f"{self._before}{wanted}/", paths)
        parts = self._replace(_BEFORE, f"before {wanted}", name, last, paths)
        return _Sum(tuple(parts), frozenset(paths))

    def _last_before(self) -> tuple[_Sum, str]:
        """Return the sum of old days if it still holds, and the day before which they are."""
        parts = self._change.tables.parts(TABLE, self._before)
        if not parts:
            return _NOTHING, ""
        day = parts[0].path.split("/")[1]
        paths = sorted(path for path in self._files if places.day_of(path) < day)
        if not parts[0].path.startswith(_sum_name(f"{self._before}{day}/", paths)):
            return _NOTHING, ""
        return _Sum(tuple(parts), frozenset(paths)), day

    def _replace(
        self, kind: str, span: str, name: str, beginning: _Sum, paths: list[str]
    ) -> list[DataFile]:
        """Write the sum of the files of some paths in place of another one; return its files."""
        more = [self._files[path] for path in paths if path not in beginning.covered]
        parts = [*beginning.parts, *more]
        buckets = -(-sum(part.rows for part in parts) // ROWS_A_BUCKET)
        files = tuple(self._change.tables.place_of(part) for part in parts)
        tasks = [
            SumTask(
                files=files,
                span=span,
                name=f"{name}{number:05}",
                bucket=number,
                buckets=buckets,
            )
            for number in range(buckets)
        ]
        self._remove(kind)
        return self._map(sum_bucket, tasks)

    def _remove(self, kind: str) -> None:
        """Remove sums of a kind, but for those of other clusters.

        Those of the time when the cluster had another name, or none, go too.
        """
        others = {
            _folder_of(kind, name) for name in self._cluster.ids if name != self._cluster.name
        }
        for part in self._change.tables.parts(TABLE, kind):
            if f"{part.path.partition('/')[0]}/" not in others:
                self._change.remove(TABLE, part.path)

    def _map(
        self, function: Callable[[str, Task], DataFile], tasks: Sequence[Task]
    ) -> list[DataFile]:
        made = list(self._engine.map(function, tasks, self._change.tables.root))
        self._change.add(made)
        return made


def _write(out: str, rows: pl.DataFrame, span: str, name: str) -> DataFile:
    frame = contents.as_frame(TABLE, rows.with_columns(span=pl.lit(span)))
    return write_part(out, TABLE, frame, name)


def _folder_of(kind: str, cluster: str) -> str:
    return f"{kind}{places.mark_of(cluster)}/"


def _name_of(path: str) -> str:
    return f"{_DAYS}{path.removeprefix(places.DAY).removesuffix('.parquet')}"


def _before_random(path: str) -> str:
    """Return the beginning of a file's path that ``write_part`` was given."""
    return path.rpartition("-")[0]


def _sum_name(folder: str, paths: Iterable[str]) -> str:
    """Return the beginning of the paths of a sum that covers decisions of some paths."""
    digest = hashlib.sha256("\n".join(sorted(paths)).encode()).hexdigest()
    return f"{folder}{digest[:_DIGEST_LENGTH]}/"
