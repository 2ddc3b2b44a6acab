"""The shared store as source or target of a copy."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final
from uuid import UUID

import asyncpg

from doorkeeper.base.uuids import random_uuid
from doorkeeper.server.state.postgres import digest, membership, schema
from doorkeeper.server.state.postgres.rows import head
from doorkeeper.server.state.postgres.schema import has_store, identity, set_identity, set_meta
from doorkeeper.server.state.storage.cells import decode, encode
from doorkeeper.server.state.storage.portable import (
    BASE_KEYS,
    COLUMNS,
    LOG,
    ROWS_AT_ONCE,
    Cell,
    Header,
    Portable,
    Position,
    Row,
)
from doorkeeper.server.state.store import StorageError, StoreIdentity

_TABLES: Final = {name: "log" if name == LOG else name for name in COLUMNS}

_AUTHOR: Final = tuple(name for name in COLUMNS[LOG] if name.startswith("author_"))
_COPY_S: Final = 600.0
"""Time-out of one statement of a copy; those of a server have seconds."""


class SharedPortable(Portable):
    """A store that is read in one repeatable-read transaction."""

    def __init__(self, connection: asyncpg.Connection, name: str) -> None:
        self._connection = connection
        self.name = name

    async def header(self) -> Header:
        counts = {
            table: await self._connection.fetchval(f"SELECT count(*) FROM doorkeeper.{name}")
            for table, name in _TABLES.items()
        }
        return Header(*await identity(self._connection), *await self.position(), counts)

    async def position(self) -> Position:
        return Position(await head(self._connection), await schema.base(self._connection))

    async def rows(
        self,
        table: str,
        columns: Sequence[str] = (),
        *,
        after: int = -1,
        until: int | None = None,
    ) -> AsyncIterator[list[Row]]:
        columns = columns or COLUMNS[table]
        order = " ORDER BY revision, item" if table == LOG else ""
        statement = (
            f"SELECT {', '.join(columns)} FROM doorkeeper.{_TABLES[table]}"
            f" WHERE revision > $1 AND ($2::bigint IS NULL OR revision <= $2){order}"
        )
        cursor = await self._connection.cursor(statement, after, until, timeout=_COPY_S)
        while page := await cursor.fetch(ROWS_AT_ONCE):
            yield [tuple(map(_cell_of, columns, row)) for row in page]

    async def findings(self) -> list[str]:
        """Return how the rows differ from the digest; PostgreSQL enforces the schema itself."""
        difference = await digest.finding(self._connection)
        return [] if difference is None else [f"digest: {difference}"]


def _is_escaped(column: str) -> bool:
    return column == "key" or column in _AUTHOR


def _cell_of(column: str, value: object) -> Cell:
    if isinstance(value, str):
        return decode(value) if _is_escaped(column) else value
    if isinstance(value, UUID):
        return str(value)
    assert value is None or isinstance(value, int)
    # bool is a subclass of int, but other stores have 0 and 1.
    return int(value) if isinstance(value, bool) else value


def _value_of(column: str, cell: Cell) -> object:
    if column == "deleted":
        return bool(cell)
    if isinstance(cell, str):
        if column == "batch":
            return UUID(cell)
        return encode(cell) if _is_escaped(column) else cell
    return cell


@asynccontextmanager
async def reading(
    connection: asyncpg.Connection, name: str, *, alone: bool
) -> AsyncIterator[SharedPortable]:
    """Open the store of a database for reading; ``alone`` rejects one that nodes use."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        try:
            if not await has_store(connection):
                raise StorageError("found no store in this database")
        except StorageError as error:
            raise StorageError(f"{name}: {error}") from error
        if alone:
            await _refuse_nodes(connection, name)
        yield SharedPortable(connection, name)


async def _refuse_nodes(connection: asyncpg.Connection, name: str) -> None:
    live = await membership.live_ids(connection)
    if live:
        nodes = ", ".join(map(str, live))
        raise StorageError(f"{name}: the store is in use by the nodes {nodes}; stop them first")


async def write(
    connection: asyncpg.Connection,
    name: str,
    header: Header,
    rows: Callable[[str], AsyncIterator[list[Row]]],
    *,
    overwrite: bool,
) -> None:
    """Replace the store of a database in one transaction; create its tables if needed.

    The target gets a new store id.
    """
    async with connection.transaction():
        await schema.prepare(connection, os.urandom)
        # Until the end of the transaction no process can become a node, and no node can write.
        await connection.execute("LOCK TABLE doorkeeper.node IN SHARE ROW EXCLUSIVE MODE")
        await connection.execute("LOCK TABLE doorkeeper.head IN EXCLUSIVE MODE")
        await _refuse_nodes(connection, name)
        present = await SharedPortable(connection, name).header()
        if not present.empty and not overwrite:
            raise StorageError(f"{name}: the store is not empty; to replace it, add --overwrite")
        await _fill(connection, header, rows)


async def _fill(
    connection: asyncpg.Connection, header: Header, rows: Callable[[str], AsyncIterator[list[Row]]]
) -> None:
    """Write all rows with the triggers disabled: the rows are their result."""
    await connection.execute("ALTER TABLE doorkeeper.log DISABLE TRIGGER USER")
    await connection.execute("TRUNCATE doorkeeper.item, doorkeeper.log, doorkeeper.base")
    for table, columns in COLUMNS.items():
        async for chunk in rows(table):
            await connection.copy_records_to_table(
                _TABLES[table],
                records=[tuple(map(_value_of, columns, row)) for row in chunk],
                columns=list(columns),
                schema_name="doorkeeper",
                timeout=_COPY_S,
            )
    await connection.execute("UPDATE doorkeeper.head SET revision = $1", header.revision)
    copied = StoreIdentity(header.cluster_id, random_uuid(os.urandom), header.salt_key)
    await set_identity(connection, copied)
    await digest.write_anew(connection)
    for key, value in zip(BASE_KEYS, header.base, strict=True):
        await set_meta(connection, key, str(value))
    await connection.execute("ALTER TABLE doorkeeper.log ENABLE TRIGGER USER")
