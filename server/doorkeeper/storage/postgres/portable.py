"""The shared store as one end of a copy."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from uuid import UUID

from doorkeeper.storage.contract import StorageError
from doorkeeper.storage.portable import COLUMNS, LOG, ROWS_AT_ONCE, Cell, Header, Portable, Row
from doorkeeper.storage.postgres import migrating
from doorkeeper.storage.postgres.cells import read, written
from doorkeeper.storage.postgres.rows import head
from doorkeeper.storage.postgres.schema import (
    VERSION,
    check_usable,
    identity,
    schema_state,
    set_meta,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import asyncpg

_TABLES: Final = {
    "bindings": "acl",
    "topics": "topic",
    "configs": "config",
    "credentials": "credential",
    "tokens": "token",
    LOG: "change_log",
}
_RENAMED: Final = {"user": "user_name"}

_COPY_S: Final = 600.0
"""How long one statement of a copy may take; a server's statements have seconds."""

_LIVE: Final = "SELECT node_id FROM doorkeeper.node WHERE leaves_at > now() ORDER BY node_id"


class SharedPortable(Portable):
    """A store that is being read, in a transaction that sees one moment."""

    def __init__(self, connection: asyncpg.Connection, name: str) -> None:
        self._connection = connection
        self.name = name

    async def header(self) -> Header:
        """Return what the store is."""
        counts = {
            table: await self._connection.fetchval(
                f"SELECT count(*) FROM doorkeeper.{name}"  # noqa: S608 - names of ours
            )
            for table, name in _TABLES.items()
        }
        is_of = await identity(self._connection)
        return Header(is_of.cluster_id, is_of.salt_key, await head(self._connection), counts)

    async def rows(self, table: str) -> AsyncIterator[list[Row]]:
        """Read a table in pieces."""
        order = " ORDER BY revision, item" if table == LOG else ""
        statement = f"SELECT {_names(table)} FROM doorkeeper.{_TABLES[table]}{order}"  # noqa: S608 - names of ours
        cursor = await self._connection.cursor(statement, timeout=_COPY_S)
        while found := await cursor.fetch(ROWS_AT_ONCE):
            yield [tuple(map(_cell_of, row)) for row in found]

    async def findings(self) -> list[str]:
        """Return where the schema is not what it says."""
        state = await schema_state(self._connection)
        version = await self._connection.fetchval(
            "SELECT max(version_num) FROM doorkeeper.alembic_version"
        )
        if state is None or int(version or 0) != state.version:
            said = 0 if state is None else state.version
            return [f"{self.name}: the schema says version {said}, alembic says {version}"]
        return []


def _names(table: str) -> str:
    return ", ".join(_RENAMED.get(name, name) for name in COLUMNS[table])


def _cell_of(value: object) -> Cell:
    if isinstance(value, str):
        return read(value)
    if isinstance(value, UUID):
        return value.hex
    assert value is None or isinstance(value, int | bytes)
    return value


def _value_of(cell: Cell) -> object:
    return cell if isinstance(cell, bytes) else written(cell)


@asynccontextmanager
async def reading(
    connection: asyncpg.Connection, name: str, *, alone: bool
) -> AsyncIterator[SharedPortable]:
    """Read the store of a database; ``alone`` refuses one that nodes use.

    Raises:
        StorageError: there is none, it is in use, or its schema does not fit.

    """
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        state = await schema_state(connection)
        if state is None:
            raise StorageError(f"{name}: there is no store in this database")
        try:
            check_usable(state)
        except StorageError as error:
            raise StorageError(f"{name}: {error}") from error
        if alone:
            await _refuse_nodes(connection, name)
        yield SharedPortable(connection, name)


async def _refuse_nodes(connection: asyncpg.Connection, name: str) -> None:
    live = [str(row[0]) for row in await connection.fetch(_LIVE)]
    if live:
        nodes = ", ".join(live)
        raise StorageError(f"{name}: the store is in use by the nodes {nodes}: stop them first")


async def write(
    connection: asyncpg.Connection,
    name: str,
    header: Header,
    rows: Callable[[str], AsyncIterator[list[Row]]],
    *,
    overwrite: bool,
) -> None:
    """Make these rows the store of a database, in one transaction; its tables are made if need be.

    Raises:
        StorageError: the database has a store with something in it, or nodes use it.

    """
    async with connection.transaction():
        await migrating.migrate(
            connection, cluster_id=lambda: header.cluster_id, salt_key=lambda: header.salt_key
        )
        state = await schema_state(connection)
        assert state is not None
        if state.version != VERSION:
            raise StorageError(f"{name}: the store has schema version {state.version}")
        # Nobody becomes a node, and nobody writes, until this is over.
        await connection.execute("LOCK TABLE doorkeeper.node IN SHARE ROW EXCLUSIVE MODE")
        await connection.execute("LOCK TABLE doorkeeper.head IN EXCLUSIVE MODE")
        await _refuse_nodes(connection, name)
        found = await SharedPortable(connection, name).header()
        if not found.empty and not overwrite:
            raise StorageError(f"{name}: the store is not empty (--overwrite replaces it)")
        await _fill(connection, header, rows)


async def _fill(
    connection: asyncpg.Connection, header: Header, rows: Callable[[str], AsyncIterator[list[Row]]]
) -> None:
    """Write all rows. The trigger rests: the rows are what it would make."""
    await connection.execute("ALTER TABLE doorkeeper.change_log DISABLE TRIGGER log_written")
    tables = ", ".join(f"doorkeeper.{name}" for name in _TABLES.values())
    await connection.execute(f"TRUNCATE {tables}")
    for table, columns in COLUMNS.items():
        names = [_RENAMED.get(name, name) for name in columns]
        async for piece in rows(table):
            records = [tuple(map(_value_of, row)) for row in piece]
            await connection.copy_records_to_table(
                _TABLES[table],
                records=_with_uuid(records) if table == LOG else records,
                columns=names,
                schema_name="doorkeeper",
                timeout=_COPY_S,
            )
    await connection.execute("UPDATE doorkeeper.head SET revision = $1", header.revision)
    await set_meta(connection, "cluster_id", header.cluster_id)
    await set_meta(connection, "salt_key", header.salt_key.hex())
    await connection.execute("ALTER TABLE doorkeeper.change_log ENABLE TRIGGER log_written")


def _with_uuid(records: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return [(*row, batch if batch is None else UUID(hex=str(batch))) for *row, batch in records]
