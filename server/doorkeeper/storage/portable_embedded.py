"""The embedded store as one end of a copy."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from doorkeeper.state.store import StorageError
from doorkeeper.storage import migrations, schema
from doorkeeper.storage.backup import restore
from doorkeeper.storage.database import check_integrity, connect, connect_readonly, named
from doorkeeper.storage.files import DATABASE_NAME, prepare_folder, remove_database
from doorkeeper.storage.lock import DataLock
from doorkeeper.storage.portable import (
    COLUMNS,
    LOG,
    ONLY_SHARED,
    ROWS_AT_ONCE,
    Header,
    Portable,
    Row,
)
from doorkeeper.storage.sqlite import identity_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    import apsw


class EmbeddedPortable(Portable):
    """A store of the newest schema version, read in one transaction."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self.name = str(path.parent)

    async def header(self) -> Header:
        """Return what the store is."""
        with named(self._path):
            counts = {
                table: int(self._value(f"SELECT count(*) FROM {table}"))  # noqa: S608 - ours
                for table in COLUMNS
            }
            revision = schema.last_revision(self._connection)
            return Header(*identity_of(self._connection), revision, counts)

    def _value(self, statement: str) -> int:
        found = self._connection.execute(statement).get
        assert isinstance(found, int)
        return found

    async def rows(self, table: str) -> AsyncIterator[list[Row]]:
        """Read a table in pieces."""
        columns: tuple[str, ...] = COLUMNS[table]
        only_shared: Row = ()
        order = ""
        if table == LOG:
            columns, only_shared = columns[:-ONLY_SHARED], (None,) * ONLY_SHARED
            order = " ORDER BY revision, item"
        names = ", ".join(f'"{name}"' for name in columns)
        statement = f"SELECT {names} FROM {table}{order}"  # noqa: S608 - names of ours
        with named(self._path):
            piece: list[Row] = []
            for row in self._connection.execute(statement):
                piece.append((*row, *only_shared))
                if len(piece) == ROWS_AT_ONCE:
                    yield piece
                    piece = []
            if piece:
                yield piece

    async def findings(self) -> list[str]:
        """Return what SQLite's own check finds."""
        try:
            check_integrity(self._connection, self._path)
        except StorageError as error:
            return [str(error)]
        return []


@asynccontextmanager
async def reading(data_dir: Path, *, alone: bool) -> AsyncIterator[EmbeddedPortable]:
    """Open the store in a folder to read it; ``alone`` refuses one that a server uses.

    Raises:
        StorageError: there is none, it is in use, or its schema is another one.

    """
    path = data_dir / DATABASE_NAME
    if not path.is_file():
        raise StorageError(f"{data_dir}: there is no store ({DATABASE_NAME}) in this folder")
    with _lock(data_dir) if alone else nullcontext(), named(path):
        connection = connect_readonly(path)
        try:
            found = migrations.check_readable(connection, path)
            if found < schema.VERSION:
                raise StorageError(
                    f"{path}: the store has schema version {found}: migrate it first"
                    " (doorkeeper store migrate)"
                )
            connection.execute("BEGIN; SELECT count(*) FROM sqlite_schema")
            yield EmbeddedPortable(connection, path)
        finally:
            connection.close()


@contextmanager
def _lock(data_dir: Path) -> Iterator[None]:
    lock = DataLock.acquire(data_dir)
    try:
        yield
    finally:
        lock.release()


async def write(
    data_dir: Path,
    header: Header,
    rows: Callable[[str], AsyncIterator[list[Row]]],
    *,
    now_ms: int,
    overwrite: bool,
    identity_file: Path | None = None,
) -> str | None:
    """Make these rows the store in a folder; return where the previous store lies, None if none.

    The rows are written beside it first: until the last moment the previous store is in its place.

    Raises:
        StorageError: the folder has a store with something in it, or a server uses it.

    """
    path = data_dir / DATABASE_NAME
    if path.is_file() and not overwrite:
        async with reading(data_dir, alone=True) as found:
            if not (await found.header()).empty:
                raise StorageError(f"{data_dir}: the store is not empty (--overwrite replaces it)")
    prepare_folder(data_dir)
    with _lock(data_dir):
        pass  # in use: say so before the work
    partial = path.with_name(f".{path.name}.copied-{os.getpid()}")
    try:
        with named(partial):
            await _fill(partial, header, rows, now_ms)
        aside = restore(partial, data_dir, now_ms=lambda: now_ms, identity_file=identity_file)
    finally:
        remove_database(partial)
    return None if aside is None else str(aside)


async def _fill(
    path: Path, header: Header, rows: Callable[[str], AsyncIterator[list[Row]]], now_ms: int
) -> None:
    """Write all rows into a new database, without triggers: the rows are what they would write."""
    connection = connect(path)
    try:
        connection.pragma("synchronous", "off")  # the copy of it is synced
        migrations.create(
            connection,
            cluster_id=header.cluster_id,
            salt_key=header.salt_key,
            random_bytes=os.urandom,
            now_ms=now_ms,
            triggers=False,
        )
        with connection:
            for table, columns in COLUMNS.items():
                number = len(columns) - (ONLY_SHARED if table == LOG else 0)
                names, marks = ",".join(columns[:number]), ",".join("?" * number)
                statement = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - ours
                async for piece in rows(table):
                    connection.executemany(statement, (row[:number] for row in piece))
            connection.execute(schema.TRIGGERS)
    finally:
        connection.close()
