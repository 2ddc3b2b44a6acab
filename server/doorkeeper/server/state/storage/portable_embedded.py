"""The embedded store as source or target of a copy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, nullcontext
from itertools import islice
from pathlib import Path
from typing import Final

import apsw

from doorkeeper.server.state.storage import digest, schema
from doorkeeper.server.state.storage.backup import restore
from doorkeeper.server.state.storage.database import (
    check_integrity,
    connect,
    connect_readonly,
    sqlite_errors,
)
from doorkeeper.server.state.storage.files import (
    DATABASE_NAME,
    partial_of,
    prepare_folder,
    remove_database,
)
from doorkeeper.server.state.storage.lock import DataLock
from doorkeeper.server.state.storage.portable import (
    COLUMNS,
    LOG,
    ONLY_SHARED,
    ROWS_AT_ONCE,
    Header,
    Portable,
    Position,
    Row,
)
from doorkeeper.server.state.storage.reading import identity_of
from doorkeeper.server.state.store import StorageError, StoreIdentity

_REVISION_MAX: Final = (1 << 63) - 1


class EmbeddedPortable(Portable):
    """A store that is read in one transaction; ``reading_file`` names the file in its errors."""

    def __init__(self, connection: apsw.Connection, path: Path, name: str) -> None:
        self._connection = connection
        self._path = path
        self.name = name

    async def header(self) -> Header:
        counts: dict[str, int] = {
            table: self._connection.execute(f"SELECT count(*) FROM {table}").get
            for table in COLUMNS
        }
        return Header(*identity_of(self._connection), *await self.position(), counts)

    async def position(self) -> Position:
        return Position(schema.last_revision(self._connection), schema.base(self._connection))

    async def rows(
        self,
        table: str,
        columns: Sequence[str] = (),
        *,
        after: int = -1,
        until: int | None = None,
    ) -> AsyncIterator[list[Row]]:
        order = " ORDER BY revision, item" if table == LOG else ""
        only_shared = COLUMNS[LOG][-ONLY_SHARED:]
        names = ", ".join(
            "NULL" if name in only_shared else f'"{name}"' for name in columns or COLUMNS[table]
        )
        statement = f"SELECT {names} FROM {table} WHERE revision > ? AND revision <= ?{order}"
        bounds = (after, _REVISION_MAX if until is None else until)
        # A copy reads this store while it writes another file.
        with sqlite_errors(self._path):
            rows = self._connection.execute(statement, bounds)
            while chunk := list(islice(rows, ROWS_AT_ONCE)):
                yield chunk

    async def findings(self) -> list[str]:
        """Return the findings of SQLite's integrity check, and of the digest."""
        try:
            check_integrity(self._connection, self._path)
            difference = digest.finding(self._connection)
        except (StorageError, apsw.Error) as error:
            return [str(error)]
        return [] if difference is None else [f"digest: {difference}"]


@asynccontextmanager
async def reading(data_dir: Path, *, alone: bool) -> AsyncIterator[EmbeddedPortable]:
    """Open the store in a folder for reading; ``alone`` rejects one that a server uses."""
    path = data_dir / DATABASE_NAME
    if not path.is_file():
        raise StorageError(f"{data_dir}: found no store ({DATABASE_NAME}) in this folder")
    with DataLock(data_dir) if alone else nullcontext():
        async with reading_file(path, str(data_dir)) as store:
            yield store


@asynccontextmanager
async def reading_file(path: Path, name: str) -> AsyncIterator[EmbeddedPortable]:
    """Open the database of a store, or a backup of one, for reading."""
    with sqlite_errors(path), closing(connect_readonly(path)) as connection:
        schema.check_readable(connection, path)
        # A read fixes the snapshot; BEGIN alone does not.
        connection.execute("BEGIN; SELECT count(*) FROM sqlite_schema")
        yield EmbeddedPortable(connection, path, name)


async def write(
    data_dir: Path,
    header: Header,
    rows: Callable[[str], AsyncIterator[list[Row]]],
    *,
    now_ms: int,
    overwrite: bool,
    identity_file: Path | None = None,
) -> str | None:
    """Create a store from these rows; return the path of the previous one, None without one.

    The rows are written to a file beside it first: the previous store stays until the last rename.
    """
    path = data_dir / DATABASE_NAME
    if path.is_file() and not overwrite:
        async with reading(data_dir, alone=True) as present:
            if not (await present.header()).empty:
                raise StorageError(
                    f"{data_dir}: the store is not empty; to replace it, add --overwrite"
                )
    prepare_folder(data_dir)
    DataLock(data_dir).release()  # fail early if a server uses the folder
    partial = partial_of(path)
    try:
        with sqlite_errors(partial):
            await _fill(partial, header, rows, now_ms)
        aside = restore(partial, data_dir, now_ms=lambda: now_ms, identity_file=identity_file)
    finally:
        remove_database(partial)
    return None if aside is None else str(aside)


async def _fill(
    path: Path, header: Header, rows: Callable[[str], AsyncIterator[list[Row]]], now_ms: int
) -> None:
    """Write all rows into a new database, without triggers: the rows are their result."""
    with closing(connect(path)) as connection:
        connection.pragma("synchronous", "off")  # restore() copies and syncs it
        # ``restore`` gives it a store id of its own.
        identity = StoreIdentity(header.cluster_id, header.store_id, header.salt_key)
        schema.create(connection, identity, now_ms, triggers=False)
        with connection:
            for table, columns in COLUMNS.items():
                number = len(columns) - (ONLY_SHARED if table == LOG else 0)
                names, marks = ",".join(columns[:number]), ",".join("?" * number)
                statement = f"INSERT INTO {table} ({names}) VALUES ({marks})"
                async for chunk in rows(table):
                    connection.executemany(statement, (row[:number] for row in chunk))
            schema.set_base(connection, *header.base)
            connection.execute(schema.TRIGGERS)
            digest.write_anew(connection)
