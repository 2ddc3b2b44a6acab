"""Maintenance: old days and forgotten names leave the tables, and files that no version needs go.

What is removed is gone from the newest versions when the change is committed, whole or not at all
as a run's. The files of earlier versions, which readers may still use, stay for some hours more.
Sums and gold tables that depend on what was removed are made anew by the next run.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from doorkeeper_pipeline.columns import stored_columns
from doorkeeper_pipeline.errors import Conflicting
from doorkeeper_pipeline.evaluation import numbering
from doorkeeper_pipeline.jobs import forgotten, merged, sums
from doorkeeper_pipeline.jobs.request import Maintained, Surroundings
from doorkeeper_pipeline.schemas import TABLES
from doorkeeper_pipeline.tables import contents, places
from doorkeeper_pipeline.tables.delta import (
    KEPT_HOURS,
    LAST,
    Change,
    DataFile,
    Tables,
    delete_unused,
    write_part,
)
from doorkeeper_pipeline.tables.locking import lock

COMMAND = "maintain"
MANIFEST = ("files", LAST)
"""Tables whose rows stay: what was read, and what runs did."""
DAYS = ("days", "allowed_days", "lost_days")
"""Columns of the table files that are lists of days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintainRequest:
    """The options of maintenance.

    Attributes:
        out: The output folder.
        keep_days: Days that stay, besides today; None for all.
        forget: Principals and addresses whose rows go.
        vacuum_hours: Files that only earlier versions have stay so long.

    """

    out: Path | str
    keep_days: int | None = None
    forget: tuple[str, ...] = ()
    vacuum_hours: int = KEPT_HOURS


def maintain(request: MaintainRequest, around: Surroundings) -> Maintained:
    """Remove what is old or to be forgotten, and delete the files that no version needs.

    Raises:
        Conflicting: no table has a name that is to be forgotten; nothing was changed.
        PipelineError: it could not be done.

    """
    with lock(request.out, around.tell):
        tables = Tables(request.out)
        change = Change(tables)
        try:
            done = _Maintenance(request, around, change).whole()
            # Also without a change: it undoes the part of a run that was killed.
            change.commit(around.checkpoint)
        except BaseException:
            change.discard()
            raise
        around.tell("deleting unreferenced files")
        done.deleted_files, done.waiting_files = delete_unused(
            Tables(request.out), request.vacuum_hours
        )
        return done


def is_name(text: str) -> bool:
    """Return whether a text is a principal or an address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return re.fullmatch(r"[A-Za-z]\w*:\S.*", text) is not None
    return True


class _Maintenance:
    """One maintenance: the values that its steps hand on."""

    def __init__(self, request: MaintainRequest, around: Surroundings, change: Change) -> None:
        self._request = request
        self._around = around
        self._change = change
        self._tables = change.tables
        self._started = around.now()
        self._done = Maintained(forgotten={name: Counter() for name in request.forget})
        self._since: dt.datetime | None = None
        if request.keep_days is not None:
            day = self._started.date() - dt.timedelta(days=request.keep_days)
            self._since = dt.datetime.combine(day, dt.time(), dt.UTC)
            self._done.before = day

    def whole(self) -> Maintained:
        files = self._tables.read("files")
        kept_files = self._expire(files)
        self._rewrite()
        self._done.merged_files, self._done.written_files = merged.merge(
            self._change, self._around.engine, kept_files, self._started
        )
        self._rewrite_manifest(files, kept_files)
        for name, counts in self._done.forgotten.items():
            if not counts:
                raise Conflicting(
                    f"--forget: {name!r} is not in any table of {self._request.out}; nothing was"
                    " changed"
                )
        if any(map(self._change.changes, TABLES)):
            self._add_run()
        self._done.listed = tuple(
            name for name, counts in self._done.forgotten.items() if counts["bindings"]
        )
        return self._done

    def _expire(self, files: pl.DataFrame) -> pl.DataFrame:
        """Remove the files of tables whose rows are all too old; return the rows of table files."""
        if self._since is None:
            return files
        day = self._since.date().isoformat()
        old = [part for part in self._tables.parts("decisions") if places.day_of(part.path) < day]
        gone = files.filter(pl.col("last_ts") < self._since)["file_id"]
        for table in ("lines", "quarantine"):
            for file_id in gone:
                old += self._tables.parts(table, places.of_file(file_id))
        old += [
            part
            for part in self._tables.parts("lines", places.MERGED)
            if places.days_of_merged(part.path)[1] < day
        ]
        for part in old:
            self._change.remove(part.table, part.path)
            self._done.expired[part.table] += part.rows
        sums.drop(self._change, [part.path for part in old if part.table == "decisions"])
        bindings = self._tables.read("bindings")
        remaining = bindings.filter(
            pl.col("valid_to").is_null() | (pl.col("valid_to") >= self._since)
        )
        if len(remaining) < len(bindings):
            self._done.expired["bindings"] += len(bindings) - len(remaining)
            self._change.replace("bindings", remaining)
        return self._kept_files(files, day)

    def _kept_files(self, files: pl.DataFrame, day: str) -> pl.DataFrame:
        """Return the rows of files without old days; those of files that are not there go.

        A row that stays keeps its file from being read again. Of a topic the last range of each
        partition says where it goes on.
        """
        since = pl.lit(self._since, dtype=pl.Datetime("us", "UTC"))
        is_old = pl.col("last_ts") < since
        lists = [pl.col(name).list.filter(pl.element() >= day) for name in DAYS]
        rows = files.with_columns(
            *lists,
            unread_principals=pl.when(is_old)
            .then(pl.lit([], dtype=pl.List(pl.String)))
            .otherwise("unread_principals"),
            nameless=pl.when(is_old).then(0).otherwise("nameless"),
            damaged=pl.when(is_old).then(0).otherwise("damaged"),
            numbers=pl.col("numbers").map_elements(
                partial(numbering.without_old, day), return_dtype=pl.String
            ),
            first_ts=pl.when(is_old).then(None).otherwise(pl.col("first_ts").clip(since)),
            last_ts=pl.when(is_old).then(None).otherwise("last_ts"),
        )
        is_last = pl.col("end_offset") == pl.col("end_offset").max().over("topic_id", "partition")
        # Of addresses it is not known.
        is_there = pl.col("path").map_elements(
            lambda path: places.is_address(path) or Path(path).exists(), return_dtype=pl.Boolean
        )
        is_kept = pl.when(pl.col("topic_id").is_null()).then(is_there).otherwise(is_last)
        left = rows.filter(pl.col("last_ts").is_not_null() | (files["decisions"] == 0) | is_kept)
        self._done.expired["files"] += len(files) - len(left)
        return left

    def _rewrite(self) -> None:
        """Write the files anew that have rows to be removed next to others."""
        parts: list[tuple[DataFile, dt.datetime | None]] = []
        if self._request.forget:
            # Sums have what decisions have, and are made of them.
            tables = [name for name in TABLES if name not in {*MANIFEST, sums.TABLE}]
            parts = [(part, None) for name in tables for part in self._change.parts(name)]
        if self._since is not None:
            parts = [pair for pair in parts if pair[0].table != "lines"]
            parts += [(part, self._since) for part in self._straddling()]
        self._around.tell(f"searching {len(parts)} files")
        changed = []
        shared = self._tables.root, self._request.forget
        results = self._around.engine.map(rewrite, parts, shared)
        for (before, _), (after, expired, counts) in zip(parts, results, strict=True):
            self._done.expired[before.table] += expired
            self._count(before.table, counts)
            if after == before:
                continue
            self._change.remove(before.table, before.path)
            self._change.add([] if after is None else [after])
            if before.table == "decisions":
                changed.append(before.path)
        sums.drop(self._change, changed)

    def _straddling(self) -> Iterable[DataFile]:
        """Return the files of lines that may have old rows next to others, and the others too."""
        if self._request.forget:
            return self._change.parts("lines")
        files = self._tables.read("files", ("file_id", "first_ts", "last_ts"))
        straddling = files.filter(
            pl.col("first_ts") < self._since, pl.col("last_ts") >= self._since
        )
        assert self._since is not None
        day = self._since.date().isoformat()
        return [
            *(
                part
                for file_id in straddling["file_id"]
                for part in self._change.parts("lines", places.of_file(file_id))
            ),
            *(
                part
                for part in self._change.parts("lines", places.MERGED)
                if places.days_of_merged(part.path)[0] < day
            ),
        ]

    def _count(self, table: str, counts: Iterable[int]) -> None:
        for name, count in zip(self._request.forget, counts, strict=True):
            if count:
                self._done.forgotten[name][table] += count

    def _rewrite_manifest(self, files: pl.DataFrame, remaining: pl.DataFrame) -> None:
        for table, before, after in (
            ("files", files, remaining),
            (LAST, self._tables.read(LAST), self._kept_runs()),
        ):
            without, counts = _forget(table, after, self._request.forget)
            self._count(table, counts)
            if not without.equals(before):
                self._change.replace(table, without)

    def _kept_runs(self) -> pl.DataFrame:
        """Return the rows of runs without old ones, but for the last of each cluster."""
        runs = self._tables.read(LAST)
        if self._since is None:
            return runs
        is_last = pl.col("started") == pl.col("started").max().over("command", "cluster")
        remaining = runs.filter((pl.col("started") >= self._since) | is_last)
        self._done.expired[LAST] += len(runs) - len(remaining)
        return remaining

    def _add_run(self) -> None:
        """Add a row of maintenance to the runs: with it the change happens whole or not at all."""
        row: dict[str, Any] = dict.fromkeys(contents.schema_of(LAST))
        numbers = ("files_read", "files_unchanged", "lines", "decisions", "ignored", "quarantined")
        row |= dict.fromkeys(numbers, 0) | {
            "run_id": self._around.run_id,
            "command": COMMAND,
            "engine": self._around.engine.name,
            "master": self._around.engine.master,
            "version": self._around.version,
            "started": self._started,
            "finished": self._around.now(),
            "warnings": [],
            "digests": forgotten.MARK if self._request.forget else None,
        }
        runs = self._change.read(LAST)
        schema = contents.schema_of(LAST)
        self._change.replace(LAST, pl.concat([runs, pl.DataFrame([row], schema=schema)]))


def rewrite(
    shared: tuple[str, tuple[str, ...]], task: tuple[DataFile, dt.datetime | None]
) -> tuple[DataFile | None, int, list[int]]:
    """Write a file without rows that are older than a time or have a name; function of the tasks.

    The folder and the names are shared. Return the file in its place, if rows are left, the number
    of old rows, and of those that had each name.
    """
    (root, names), (part, since) = shared, task
    rows = contents.read_files(root, part.table, [part.place_in(root)])
    young = rows if since is None else rows.filter(pl.col("minute") >= since)
    remaining, counts = _forget(part.table, young, names)
    after: DataFile | None = part
    if not remaining.equals(rows):
        name = part.path.rpartition("-")[0]
        is_whole = TABLES[part.table].by_cluster  # such a table is one file, which may be empty
        keeps = len(remaining) or is_whole
        after = write_part(root, part.table, remaining, name) if keeps else None
    return after, len(rows) - len(young), counts


def _forget(
    table: str, rows: pl.DataFrame, names: tuple[str, ...]
) -> tuple[pl.DataFrame, list[int]]:
    """Return rows without names, and how many rows had each.

    A row goes where a text that it needs has the name; texts that may be null become null, and
    lists lose their items. Rows of ``files`` and ``runs`` stay.
    """
    counts = []
    for name in names:
        needed, others = _mentions(table, name)
        has_any = pl.any_horizontal(pl.lit(value=False), *needed, *others.values())
        counts.append(rows.select(has_any.fill_null(value=False).sum()).item())
        if not counts[-1]:
            continue
        columns = {column.name: column for column in stored_columns(TABLES[table])}
        cleaned = []
        for column, has in others.items():
            is_list = isinstance(rows.schema[column], pl.List)
            is_item = _has(pl.element(), column, name)
            left = pl.col(column).list.filter(~is_item) if is_list else pl.lit(None)
            assert is_list or columns[column].nullable
            cleaned.append(pl.when(has).then(left).otherwise(column).alias(column))
        gone = pl.any_horizontal(pl.lit(value=False), *needed).fill_null(value=False)
        rows = rows.filter(~gone).with_columns(cleaned)
    return rows, counts


def _mentions(table: str, name: str) -> tuple[list[pl.Expr], dict[str, pl.Expr]]:
    """Return conditions that columns have a name: of those that a row needs, and of others."""
    needed = []
    others = {}
    for column in stored_columns(TABLES[table]):
        if column.type == "string" and column.is_list:
            item = _has(pl.element(), column.name, name)
            others[column.name] = pl.col(column.name).list.eval(item).list.any()
        elif column.type == "string" and table not in MANIFEST:
            has = _has(pl.col(column.name), column.name, name)
            if column.nullable:
                others[column.name] = has
            else:
                needed.append(has)
    return needed, others


_EXACT = ("principal", "principals", "host", "hosts")
"""Columns that end so have a name and nothing else, or a list of names."""


def _has(value: pl.Expr, column: str, name: str) -> pl.Expr:
    """Return the condition that a value is a name, or a text in which it stands as a word."""
    if column.endswith(_EXACT):
        return value == name
    word = pl.escape_regex(name)
    return value.str.contains(rf"(?:^|[^\w.@:-]){word}(?:$|[^\w.@-]|[.-](?:$|\W))")
