"""The tables of an output folder, in the format Delta: on a disk or in an object store.

A table is a folder of Parquet files and a log, ``_delta_log``, that says which of them make up each
version. A file that the log does not name is in no version, so tasks write their files beside the
others, and the driver makes all of them visible by one commit.

A run changes many tables, one commit each, and ``runs`` last. The commits carry the number of the
run (Delta's application transaction). A number that ``runs`` does not have yet, or has another of
its round in place of it, belongs to a run that was killed, or came too late: its commits are passed
over when tables are read, and undone by the next change.
"""

from __future__ import annotations

import bisect
import datetime as dt
import json
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorkeeper_pipeline.columns import delta_schema, stored_columns
from doorkeeper_pipeline.errors import Busy, PipelineError, Unreadable
from doorkeeper_pipeline.schemas import TABLES
from doorkeeper_pipeline.tables import contents, places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import polars as pl
    from deltalake import DeltaTable

APPLICATION = "doorkeeper-pipeline"
LAST = "runs"
"""The table whose commit completes a change."""

BEFORE_ALL = -1
"""The number of the last run where there was none."""

ROUND = 1 << 32
"""Two runs that begin with the same tables have numbers of one round, which differ by chance."""

KEPT_HOURS = 7 * 24
"""Versions that are older lose the files that no later one has."""


_MARKS = re.compile(r"\x1b\[[0-9;]*m|↳")
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}|\\")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A Parquet file of a table: its path below the table's folder, its bytes and rows, its time.

    ``partition`` has the value of each column by which the table is partitioned, which its rows
    have too. ``stats`` are Delta's, of a file that is new.
    """

    table: str
    path: str
    size: int
    rows: int
    modified_ms: int
    partition: tuple[tuple[str, str], ...] = ()
    stats: str = ""

    def place_in(self, root: str) -> str:
        return f"{root}/{places.folder_of(self.table)}/{self.path}"


class Tables:
    """The tables of an output folder, as the last complete change left them."""

    def __init__(self, out: Path | str) -> None:
        """Look at an output folder, a path or the address of a place in an object store.

        Raises:
            PipelineError: its name is one that the format cannot have.

        """
        self.root = str(out) if places.is_address(out) else str(Path(out).absolute())
        if match := _ESCAPED.search(self.root):
            raise PipelineError(
                f"{self.root}: found {match.group()!r} in the name of the folder; not allowed,"
                " because Delta Lake decodes it as another character"
            )
        self._parts: dict[str, list[DataFile]] = {}
        self._versions: dict[str, int] = {}
        self.last = self.newest(LAST)
        self.number = _number_of(self.last)

    def files(self, table: str) -> list[str]:
        """Return the files of a table, sorted; none where it was never written."""
        return [self.place_of(part) for part in self.parts(table)]

    def parts(self, table: str, prefix: str = "") -> list[DataFile]:
        """Return the files of a table whose path begins so, sorted by path."""
        if table not in self._parts:
            self._parts[table] = _parts_of(table, self._now(table))
        return _beginning_with(prefix, self._parts[table])

    def read(self, table: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return a table, or some columns of it; empty where it was never written.

        Raises:
            Unreadable: a file of it is damaged.

        """
        return contents.read_files(self.root, table, self.files(table), columns)

    def place_of(self, part: DataFile) -> str:
        return part.place_in(self.root)

    def folder_of(self, table: str) -> str:
        return f"{self.root}/{places.folder_of(table)}"

    def _now(self, table: str) -> DeltaTable | None:
        """Return the newest version that a complete change left."""
        opened = self.newest(table)
        while opened is not None and self._is_incomplete(_number_of(opened)):
            before = opened.version() - 1
            if before < 0:
                return None
            opened.load_as_version(before)
        if opened is not None:
            self._versions[table] = opened.version()
        return opened

    def _is_incomplete(self, number: int) -> bool:
        is_other = number != self.number and number // ROUND == self.number // ROUND >= 1
        return number > self.number or is_other

    def is_as_read(self, table: str, newest: DeltaTable | None) -> bool:
        """Return whether the newest version of a table is the one that was read."""
        return newest is not None and self._versions.get(table) == newest.version()

    def newest(self, table: str) -> DeltaTable | None:
        """Return the newest version of a table, of a change that is complete or not.

        Raises:
            Unreadable: its log is damaged.

        """
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError

        try:
            opened = DeltaTable(self.folder_of(table))
        except TableNotFoundError:
            return None
        except (DeltaError, OSError, ValueError) as error:
            raise Unreadable(f"{self.folder_of(table)}: {_first_line(error)}") from error
        _check_layout(self.folder_of(table), table, opened)
        return opened


class Change:
    """A change of some tables: files that are added and removed, visible when it is committed."""

    def __init__(self, tables: Tables) -> None:
        """Begin a change; the caller holds the lock of the folder."""
        self.tables = tables
        self._added: dict[str, dict[str, DataFile]] = {}
        self._removed: dict[str, set[str]] = {}
        self._begun = False

    def add(self, parts: Iterable[DataFile]) -> None:
        for part in parts:
            self._added.setdefault(part.table, {})[part.path] = part

    def withdraw(self, parts: Iterable[DataFile]) -> None:
        """Take files back that were added, and delete them; others stay.

        In an object store they stay too: ``clean`` deletes those that no version names.
        """
        for part in parts:
            is_added = self._added.get(part.table, {}).pop(part.path, None) is not None
            if is_added and not places.is_address(self.tables.root):
                Path(self.tables.place_of(part)).unlink(missing_ok=True)

    def write(self, table: str, frame: pl.DataFrame, name: str) -> None:
        """Write rows as a file whose name begins so, and add it."""
        self.add([write_part(self.tables.root, table, frame, name)])

    def replace(self, table: str, frame: pl.DataFrame) -> None:
        self.remove(table)
        self.write(table, frame, table)

    def remove(self, table: str, prefix: str = "") -> None:
        """Remove the files of a table whose path begins so, but for those that were added."""
        gone = self._removed.setdefault(table, set())
        gone.update(part.path for part in self.tables.parts(table, prefix))

    def changes(self, table: str) -> bool:
        return bool(self._added.get(table) or self._removed.get(table))

    def parts(self, table: str, prefix: str = "") -> list[DataFile]:
        gone = self._removed.get(table, set())
        stay = [part for part in self.tables.parts(table, prefix) if part.path not in gone]
        new = [part for part in self._added.get(table, {}).values() if part.path.startswith(prefix)]
        return sorted((*stay, *new), key=lambda part: part.path)

    def read(self, table: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return a table, or some columns of it, as it will be.

        Raises:
            Unreadable: a file of it is damaged.

        """
        files = [self.tables.place_of(part) for part in self.parts(table)]
        return contents.read_files(self.tables.root, table, files, columns)

    def commit(self, checkpoint: Callable[[str], None] = lambda _: None) -> None:
        """Make the change; ``checkpoint`` is told each step, for tests that stop there.

        With rows of ``runs`` it is a run's, and happens whole or not at all. Without them each
        table changes on its own.

        Raises:
            Busy: another process has changed a table meanwhile.

        """
        number = self.tables.number
        if LAST in self._added:
            number = (max(number, 0) // ROUND + 1) * ROUND + secrets.randbelow(ROUND)
        checkpoint("staged")
        if _number_of(self.tables.newest(LAST)) != self.tables.number:
            raise self._busy()
        if not places.is_address(self.tables.root):
            for parts in self._added.values():
                for part in parts.values():
                    sync(Path(self.tables.place_of(part)))
        self._begun = True
        ours = [name for name, table in TABLES.items() if table.layer != "source" and name != LAST]
        for table in (*ours, LAST):
            if self._commit(table, number):
                checkpoint(f"committed {table}")

    def discard(self) -> None:
        """Delete the files that were written for a change that will not be."""
        if not self._begun:  # else a version may name them
            self.withdraw([part for parts in self._added.values() for part in parts.values()])

    def _busy(self) -> Busy:
        return Busy(f"{self.tables.root}: another process has changed the tables; run again")

    def _commit(self, table: str, number: int) -> bool:
        """Commit the difference between the newest version of a table and the planned one."""
        from deltalake.exceptions import DeltaError

        # Of the last table the version that was there at the beginning: so it is found out when
        # another process completed a change meanwhile.
        newest = self.tables.last if table == LAST else self.tables.newest(table)
        if not self.changes(table) and self.tables.is_as_read(table, newest):
            return False
        planned = {part.path: part for part in self.parts(table)}
        there = {part.path: part for part in _parts_of(table, newest)}
        new = [part for path, part in planned.items() if path not in there]
        gone = [part for path, part in there.items() if path not in planned]
        if not new and not gone and not (newest is None and table in self._added):
            return False
        try:
            _write(self.tables.folder_of(table), table, newest, new, gone, number)
        except (DeltaError, OSError) as error:
            if type(error).__name__ == "CommitFailedError":
                raise self._busy() from error
            raise PipelineError(f"{self.tables.root}: {table}: {_first_line(error)}") from error
        if not places.is_address(self.tables.root):
            _sync_log(Path(self.tables.folder_of(table)))
        return True


def clean(tables: Tables, change: Change) -> None:
    """Delete files of changed tables that no version of the last seven days has."""
    for name in TABLES:
        if change.changes(name):
            newest = tables.newest(name)
            if newest is not None:
                _vacuum(tables.folder_of(name), newest, KEPT_HOURS)


def delete_unused(tables: Tables, kept_hours: int) -> tuple[int, int]:
    """Delete files that no version since some hours has; return how many, and how many stay.

    A checkpoint makes a table with many versions quick to open again.
    """
    deleted = stay = 0
    for name in TABLES:
        newest = tables.newest(name)
        if newest is None:
            continue
        folder = tables.folder_of(name)
        deleted += len(_vacuum(folder, newest, kept_hours))
        stay += len(_unused(folder, newest, 0))
        newest.create_checkpoint()
        newest.cleanup_metadata()
    return deleted, stay


def _vacuum(folder: str, newest: DeltaTable, kept_hours: int) -> list[str]:
    """Delete files that no version since some hours has; return them."""
    unused = _unused(folder, newest, kept_hours)
    if unused:
        newest.vacuum(kept_hours, dry_run=False, enforce_retention_duration=False, full=True)
        newest.update_incremental()
    return unused


def _unused(folder: str, newest: DeltaTable, kept_hours: int) -> list[str]:
    """Return the files that are there and that no version since some hours has.

    ``vacuum`` itself names those that it deleted earlier again, and commits two versions for them.
    """
    named = newest.vacuum(kept_hours, enforce_retention_duration=False, full=True)
    if not named or not places.is_address(folder):
        return [path for path in named if Path(folder, path).exists()]
    import obstore
    from obstore.store import from_url

    there = {entry["path"] for page in obstore.list(from_url(folder)) for entry in page}
    return [path for path in named if path in there]


def _check_layout(folder: str, table: str, opened: DeltaTable) -> None:
    """Check that a table has the partitions of this release, and the columns of each row."""
    declared = TABLES[table]
    there = {field.name for field in opened.schema().fields}
    missing = [
        column.name
        for column in declared.columns
        if not column.nullable and column.name not in there
    ]
    partitions = opened.metadata().partition_columns
    if partitions != list(declared.partitioned_by):
        what = (
            f"is partitioned by {', '.join(partitions) or 'nothing'}, expected"
            f" {', '.join(declared.partitioned_by) or 'nothing'}"
        )
    elif missing:
        what = f"lacks the columns {', '.join(missing)}"
    else:
        return
    raise Unreadable(
        f"{folder}: the table was written by another release: it {what}. Read the logs again into"
        " another folder (--tables)"
    )


def write_part(
    root: str, table: str, frame: pl.DataFrame, name: str, rows_a_group: int = contents.ROWS_A_GROUP
) -> DataFile:
    """Write rows as a file of a table that no version names yet; return it.

    The name gets a random end: a task may be tried twice, and the results of one of them count.
    """
    path = f"{name}-{secrets.token_hex(8)}.parquet"
    location = f"{root}/{places.folder_of(table)}/{path}"
    size = contents.write(frame, location, rows_a_group)
    partitioned_by = TABLES[table].partitioned_by
    return DataFile(
        table=table,
        path=path,
        size=size,
        rows=len(frame),
        modified_ms=contents.now_ms(),
        partition=tuple((column, str(frame[column][0])) for column in partitioned_by),
        stats=_stats_of(table, frame),
    )


def _write(
    folder: str,
    table: str,
    newest: DeltaTable | None,
    new: list[DataFile],
    gone: list[DataFile],
    number: int,
) -> None:
    from deltalake import Schema
    from deltalake.transaction import (
        AddAction,
        CommitProperties,
        RemoveAction,
        Transaction,
        create_table_with_add_actions,
    )

    stamp = CommitProperties(app_transactions=[Transaction(APPLICATION, number)])
    adds = [
        AddAction(
            part.path,
            part.size,
            dict(part.partition),
            part.modified_ms,
            data_change=True,
            stats=part.stats or json.dumps({"numRecords": part.rows}),
        )
        for part in new
    ]
    if newest is None:
        schema = Schema.from_json(delta_schema(TABLES[table]))
        create_table_with_add_actions(
            folder,
            schema,
            adds,
            partition_by=list(TABLES[table].partitioned_by),
            name=table,
            description=TABLES[table].meaning,
            commit_properties=stamp,
        )
        return
    schema = newest.schema()
    known = {field.name for field in schema.fields}
    if not known.issuperset(column.name for column in stored_columns(TABLES[table])):
        schema = Schema.from_json(delta_schema(TABLES[table]))
        newest.alter.add_columns([field for field in schema.fields if field.name not in known])
    removes = [
        RemoveAction(part.path, True, contents.now_ms(), part.size, dict(part.partition))
        for part in gone
    ]
    newest.create_write_transaction([*adds, *removes], "append", schema, commit_properties=stamp)


def _beginning_with(prefix: str, parts: list[DataFile]) -> list[DataFile]:
    """Return those of sorted parts whose path begins so."""
    matching = []
    for part in parts[bisect.bisect_left(parts, prefix, key=lambda part: part.path) :]:
        if not part.path.startswith(prefix):
            break
        matching.append(part)
    return matching


def _stats_of(table: str, frame: pl.DataFrame) -> str:
    """Return the statistics of a file: with them readers pass over files of other times.

    Of texts there are none: the log of a table would keep names that its rows have no more.
    """
    stats: dict[str, Any] = {
        "numRecords": len(frame), "minValues": {}, "maxValues": {}, "nullCount": {},
    }  # fmt: skip
    for column in stored_columns(TABLES[table]):
        name, is_partition = column.name, column.name in TABLES[table].partitioned_by
        if column.is_list or is_partition or name not in frame.columns:
            continue
        values = frame[name]
        stats["nullCount"][name] = values.null_count()
        if column.type in _ORDERED and values.null_count() < len(values):
            stats["minValues"][name] = _stat(values.min())
            # Readers take times of statistics for whole milliseconds.
            stats["maxValues"][name] = _stat(values.max(), up=dt.timedelta(microseconds=999))
    return json.dumps(stats)


_ORDERED = ("int16", "int32", "int64", "date", "timestamp")


def _stat(value: object, up: dt.timedelta = dt.timedelta(0)) -> object:
    if isinstance(value, dt.datetime):
        at = (value + up).astimezone(dt.UTC)
        return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"
    return value.isoformat() if isinstance(value, dt.date) else value


def _parts_of(table: str, opened: DeltaTable | None) -> list[DataFile]:
    if opened is None:
        return []
    import polars as pl  # noqa: PLC0415  0.2 s, which other commands do without

    actions = pl.DataFrame(opened.get_add_actions(flatten=True))
    partitioned_by = TABLES[table].partitioned_by
    fields = ("path", "size_bytes", "num_records", "modification_time")
    rows = actions.select(*fields, *(f"partition.{column}" for column in partitioned_by)).to_dicts()
    parts = [
        DataFile(
            table=table,
            path=row["path"],
            size=row["size_bytes"],
            rows=row["num_records"],
            modified_ms=row["modification_time"],
            partition=tuple((column, str(row[f"partition.{column}"])) for column in partitioned_by),
        )
        for row in rows
    ]
    return sorted(parts, key=lambda part: part.path)


def _number_of(opened: DeltaTable | None) -> int:
    number = None if opened is None else opened.transaction_version(APPLICATION)
    return BEFORE_ALL if number is None else number


def _first_line(error: BaseException) -> str:
    """Return the first line of an error, and the last one, which has the cause."""
    lines = [_MARKS.sub("", line).strip(" -") for line in str(error).strip().splitlines()]
    texts = [line for line in lines if line] or [type(error).__name__]
    return texts[0] if len(texts) == 1 else f"{texts[0]}: {texts[-1]}"


def _sync_log(folder: Path) -> None:
    log = folder / "_delta_log"
    sync(max(log.glob("*.json")))
    for path in (log, folder):
        sync(path)


def sync(path: Path) -> None:
    """Sync a file or folder, so that a commit never names files that a power loss took."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
