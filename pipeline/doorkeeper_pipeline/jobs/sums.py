"""Distinct decisions with their counts: the partial aggregates of which gold tables are made.

The table ``distinct_decisions`` has them of two kinds:

    days/2026-11-22/0000of0004-*   a file of decisions, made with it and named for it
    all/0000of0004-*               the whole history, cut by the numbers of its rows
    all/news0000-*                 what came since these parts were made

A file is of one cluster: that of a day as its decisions, and the others are in ``all~<mark>/``
where the cluster has a name.

Rows have a number by principal and resource name, and stand in its order. The history is cut into
equal parts of these numbers: a task of a question reads a file, and of the news what has numbers of
its part. Most parts have news at each run, for most principals do something each hour, while few of
the news are decisions that were never seen. So news are not written into the parts before they are
many.

News are the difference between the files of decisions before and after: what came with new ones,
and with those that were made anew in place of others. Where these lack something that the others
had, the history is summed up anew, of its days; decisions are not read again for that. What the
history covers is kept with the run: files of decisions have random names and never change, so a
digest of their names says whether it still holds.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

import polars as pl

from doorkeeper_pipeline.engines.contract import Engine, Task
from doorkeeper_pipeline.evaluation.questions import COUNTS
from doorkeeper_pipeline.jobs.asking import DISTINCT, Part, distinct
from doorkeeper_pipeline.jobs.belonging import Cluster
from doorkeeper_pipeline.jobs.forgotten import MARK
from doorkeeper_pipeline.tables import contents, places
from doorkeeper_pipeline.tables.delta import Change, DataFile, Tables, write_part

TABLE = "distinct_decisions"
BUCKETS = 4096
"""How many numbers of principals and resource names there are."""

ROWS_A_PART = 1 << 17
"""How many rows a part should have: many tasks, each of which pays for its start, and for each
question: parts of a quarter cost a third more."""

ROWS_A_GROUP = 1 << 13
"""Rows of a group of a file: what a task reads at least of each file."""

ROWS_OF_NEWS = 1 << 19
"""How many rows of files a task makes into a file of news, about."""

NEWS_MAX = 8
"""Files of news that are read beside the parts."""

_DAYS, _ALL, _NEWS = "days/", "all", "news"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsTask:
    """Files of distinct decisions that came, those that they stand for, and the name of the news.

    The latter are of the same day.
    """

    came: tuple[str, ...]
    went: tuple[str, ...]
    name: str


class News(NamedTuple):
    """A file of news, if there are any; ``loses``: what went had decisions that did not come."""

    part: DataFile | None
    loses: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SumTask:
    """A part of the history: what is added up, and the name of its file."""

    part: Part
    name: str


def write_distinct(out: str, decisions: pl.LazyFrame, path: str) -> DataFile:
    """Write the distinct decisions of the file of decisions at that path."""
    rows = distinct(decisions).collect()
    number = _numbers(rows["principal"]) * 31 + _numbers(rows["resource_name"])
    return _write(
        out, rows.with_columns(bucket=number % BUCKETS), places.day_of(path), _name_of(path)
    )


def sum_file(out: str, file: DataFile) -> DataFile:
    """Write the distinct decisions of a file of decisions: the function of the tasks."""
    return write_distinct(out, contents.scan("decisions", [file.place_in(out)]), file.path)


def news_of(out: str, task: NewsTask) -> News:
    """Write what came: the function of the tasks."""
    by = ["bucket", *DISTINCT]
    if not task.came:
        return News(None, loses=True)
    rows = distinct(contents.scan(TABLE, task.came), by)
    if task.went:
        was = distinct(contents.scan(TABLE, task.went), by)
        both = was.join(rows, on=by, how="left", nulls_equal=True, suffix="_now")
        same = [pl.col(name) == pl.col(f"{name}_now") for name in COUNTS]
        grown = (
            (pl.col("count") < pl.col("count_now"))
            & (pl.col("first_ts") >= pl.col("first_ts_now"))
            & (pl.col("last_ts") <= pl.col("last_ts_now"))
        )
        is_there = grown | pl.all_horizontal(same)
        if both.select(~is_there.fill_null(value=False).all()).collect().item():
            return News(None, loses=True)
        rows = (
            rows.join(was, on=by, how="left", nulls_equal=True, suffix="_was")
            .with_columns(pl.col("count") - pl.col("count_was").fill_null(0))
            .filter(pl.col("count") > 0)
        )
    news = rows.select(*by, *COUNTS).collect()
    return News(None if news.is_empty() else _write(out, news, _ALL, task.name))


def sum_part(out: str, task: SumTask) -> DataFile | None:
    """Write a part of the history, or nothing where it has no rows: the function of the tasks."""
    rows = task.part.rows()
    return None if rows.is_empty() else _write(out, rows, _ALL, task.name)


def up_to_date(
    change: Change, engine: Engine, cluster: Cluster, last: str
) -> tuple[tuple[Part, ...], str]:
    """Return the distinct decisions of a cluster's whole history; make what is missing.

    ``last`` says what those of the last run cover, and the result what they cover now.
    """
    covered = digest_of(cluster.files_of(change.parts("decisions")))
    folder = _folder_of(cluster)
    if covered != last or not change.parts(TABLE, folder):
        _Sums(change, engine, cluster).renew(last)
    return _parts_of(change.tables, change.parts(TABLE, folder)), covered


def parts_of(tables: Tables, cluster: Cluster) -> tuple[Part, ...]:
    """Return the distinct decisions of a cluster's whole history.

    There are none if they are not up to date: where the last run was for another cluster.
    """
    decisions = digest_of(cluster.files_of(tables.parts("decisions")))
    runs = cluster.own(tables.read("runs"))
    digests = runs.filter(pl.col("digests") != MARK)["digests"].to_list()
    if not digests or json.loads(digests[-1]).get(TABLE) != decisions:
        return ()
    return _parts_of(tables, tables.parts(TABLE, _folder_of(cluster)))


def drop(change: Change, paths: Iterable[str]) -> None:
    """Remove the sums that cover files of decisions at some paths; the next run makes them anew."""
    names = set(map(_name_of, paths))
    for part in change.parts(TABLE) if names else ():
        if not part.path.startswith(_DAYS) or _before_random(part.path) in names:
            change.remove(TABLE, part.path)


class _Sums:
    """Makes the sums that a change of a cluster's decisions asks for."""

    def __init__(self, change: Change, engine: Engine, cluster: Cluster) -> None:
        self._change = change
        self._engine = engine
        self._cluster = cluster
        self._folder = _folder_of(cluster)

    def renew(self, last: str) -> None:
        """Add news to the history, or sum it up anew."""
        files = self._renew_files()
        before = self._last_files(last)
        if before is None or not self._add_news(files, before):
            self._remove()
            self._add_news(files, {})
        parts = self._change.parts(TABLE, self._folder)
        news = [part for part in parts if _is_news(part)]
        old = sum(part.rows for part in parts) - sum(part.rows for part in news)
        if len(news) > NEWS_MAX or 2 * sum(part.rows for part in news) > old:
            self._merge(parts)

    def _last_files(self, last: str) -> dict[str, DataFile] | None:
        """Return the files that the history of the last run covers; None where it is not known."""
        tables = self._change.tables
        covered = self._cluster.files_of(tables.parts("decisions"))
        if last != digest_of(covered) or not tables.parts(TABLE, self._folder):
            return None
        there = {_before_random(part.path): part for part in tables.parts(TABLE, _DAYS)}
        names = {part.path: _name_of(part.path) for part in covered}
        known = there.keys() >= set(names.values())
        return {path: there[name] for path, name in names.items()} if known else None

    def _add_news(self, files: Mapping[str, DataFile], before: Mapping[str, DataFile]) -> bool:
        """Add what came since other files; return whether nothing that these had is gone."""
        came = [files[path] for path in sorted(files.keys() - before.keys())]
        went = [before[path] for path in sorted(before.keys() - files.keys())]
        tasks = list(self._news_tasks(came, went))
        results = list(self._engine.map(news_of, tasks, self._change.tables.root))
        made = [result.part for result in results if result.part is not None]
        self._change.add(made)
        holds = not any(result.loses for result in results)
        if not holds:
            self._change.withdraw(made)
        return holds

    def _news_tasks(self, came: Sequence[DataFile], went: Sequence[DataFile]) -> Iterator[NewsTask]:
        """Yield tasks about days that were made anew in part, and about other files together."""
        anew: dict[str, list[DataFile]] = defaultdict(list)
        for part in went:
            anew[_day_of(part)].append(part)
        groups: dict[str, list[DataFile]] = defaultdict(list)
        rows = 0
        for part in came:
            day = _day_of(part)
            groups[day if day in anew else f"{rows // ROWS_OF_NEWS}"].append(part)
            rows += 0 if day in anew else part.rows
        place_of = self._change.tables.place_of
        for number, group in enumerate(sorted(groups.keys() | anew.keys())):
            yield NewsTask(
                came=tuple(map(place_of, groups[group])),
                went=tuple(map(place_of, anew.get(group, ()))),
                name=f"{self._folder}{_NEWS}{number:04}",
            )

    def _merge(self, parts: Sequence[DataFile]) -> None:
        """Add the news to the parts."""
        old = {_before_random(part.path): part for part in parts if not _is_news(part)}
        news = [part for part in parts if _is_news(part)]
        rows = sum(part.rows for part in parts)
        cut = places.spans_of(next(iter(old))) if old else 0
        least = min(-(-rows // ROWS_A_PART), BUCKETS)
        # Else the next power of two.
        count = cut if rows <= 2 * cut * ROWS_A_PART else 1 << (least - 1).bit_length()
        place_of = self._change.tables.place_of
        tasks = []
        for number in range(count):
            name = f"{self._folder}{number:04}of{count:04}"
            those = [part for own, part in old.items() if count != cut or own == name]
            files = tuple(map(place_of, (*those, *news)))
            tasks.append(SumTask(part=_part(files, number, count), name=name))
        made = list(self._map(sum_part, tasks))
        self._remove()
        self._change.withdraw(news)
        self._change.add(made)

    def _remove(self) -> None:
        """Remove the history, but for that of other clusters.

        Those of the time when the cluster had another name, or none, go too.
        """
        others = {
            _folder_of(self._cluster._replace(name=name))
            for name in self._cluster.ids
            if name != self._cluster.name
        }
        for part in self._change.tables.parts(TABLE):
            folder = f"{part.path.partition('/')[0]}/"
            if folder != _DAYS and folder not in others:
                self._change.remove(TABLE, part.path)

    def _renew_files(self) -> dict[str, DataFile]:
        """Return the distinct decisions of each file of decisions, by its path; make new ones.

        They are made of all clusters, and those of the cluster are returned.
        """
        change = self._change
        there = {_before_random(part.path): part for part in change.parts(TABLE, _DAYS)}
        decisions = {_name_of(part.path): part for part in change.parts("decisions")}
        for name in there.keys() - decisions.keys():
            change.remove(TABLE, there.pop(name).path)
        missing = [part for name, part in decisions.items() if name not in there]
        made = list(self._map(sum_file, missing))
        change.add(made)
        there.update((_before_random(part.path), part) for part in made)
        own = self._cluster.files_of(change.parts("decisions"))
        return {part.path: there[_name_of(part.path)] for part in own}

    def _map(
        self, function: Callable[[str, Task], DataFile | None], tasks: Sequence[Task]
    ) -> Iterator[DataFile]:
        parts = self._engine.map(function, tasks, self._change.tables.root)
        return (part for part in parts if part is not None)


def _write(out: str, rows: pl.DataFrame, span: str, name: str) -> DataFile:
    rows = rows.sort("bucket", *DISTINCT).with_columns(span=pl.lit(span))
    return write_part(out, TABLE, contents.as_frame(TABLE, rows), name, ROWS_A_GROUP)


def _numbers(texts: pl.Series) -> pl.Series:
    """Return a number for each text that no release changes."""
    values = texts.unique()
    numbers = pl.Series([crc32(text.encode()) for text in values], dtype=pl.Int64)
    return texts.replace_strict(values, numbers)


def _folder_of(cluster: Cluster) -> str:
    return f"{_ALL}{places.mark_of(cluster.name)}/"


def _parts_of(tables: Tables, files: Sequence[DataFile]) -> tuple[Part, ...]:
    """Return the parts of a history of some files, each with all news."""
    news = tuple(tables.place_of(file) for file in files if _is_news(file))
    old = {_number_of(file): tables.place_of(file) for file in files if not _is_news(file)}
    if not news:
        return tuple(Part((location,)) for location in old.values())
    count = next((places.spans_of(file.path) for file in files if not _is_news(file)), 1)
    return tuple(
        _part((*([old[number]] if number in old else []), *news), number, count)
        for number in range(count)
    )


def _part(files: tuple[str, ...], number: int, count: int) -> Part:
    first, end = (BUCKETS * part_number // count for part_number in (number, number + 1))
    return Part(files, DISTINCT, first, end)


def _is_news(part: DataFile) -> bool:
    return part.path.rpartition("/")[2].startswith(_NEWS)


def _number_of(part: DataFile) -> int:
    return int(part.path.rpartition("/")[2][:4])


def _day_of(part: DataFile) -> str:
    return part.path.removeprefix(_DAYS).partition("/")[0]


def _name_of(path: str) -> str:
    return f"{_DAYS}{path.removeprefix(places.DAY).removesuffix('.parquet')}"


def _before_random(path: str) -> str:
    """Return the beginning of a file's path that ``write_part`` was given."""
    return path.rpartition("-")[0]


def digest_of(parts: Iterable[DataFile]) -> str:
    """Return a digest of files of a table: they have random names, and never change."""
    names = "\n".join(part.path for part in parts)
    return hashlib.sha256(names.encode()).hexdigest()
