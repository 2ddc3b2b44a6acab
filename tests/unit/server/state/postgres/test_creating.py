"""The tables are made once, and used beside nodes of a later version."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import asyncpg
import pytest

from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import TOKEN
from doorkeeper.server.state.postgres import rows
from doorkeeper.server.state.postgres.schema import VERSION, meta, prepare
from doorkeeper.server.state.store import StorageError
from testkit.shared_stores import read_state, write
from testkit.stores import adding, token

if TYPE_CHECKING:
    from testkit.postgres import Database

pytestmark = pytest.mark.interop

NEXT = VERSION + 1


TABLES = ("item", "log", "head", "node", "meta")

EXPAND = (
    "".join(
        f"ALTER TABLE doorkeeper.{table} ADD COLUMN note text NOT NULL DEFAULT '100%';"
        for table in TABLES
    )
    + f"UPDATE doorkeeper.meta SET value = '{NEXT}' WHERE key = 'schema_version'"
)
CONTRACT = f"UPDATE doorkeeper.meta SET value = '{NEXT}' WHERE key IN ('min_reader', 'min_writer')"
"""What a made-up later version adds, and how it refuses nodes of this one."""


async def made(database: Database) -> asyncpg.Connection:
    connection = await asyncpg.connect(database.url())
    await prepare(connection, os.urandom)
    return connection


async def test_store_is_created_once(database: Database) -> None:
    connection = await made(database)

    values = await meta(connection)
    await prepare(connection, os.urandom)

    assert await meta(connection) == values
    assert [len(values[name]) for name in ("cluster_id", "store_id", "salt_key")] == [22, 22, 64]
    assert await rows.head(connection) == 0
    await connection.close()


async def test_concurrent_creation_makes_one_store(database: Database) -> None:
    connections = [await asyncpg.connect(database.url()) for _ in range(4)]

    await asyncio.gather(*(prepare(each, os.urandom) for each in connections))

    ids = {(await meta(each))["cluster_id"] for each in connections}
    assert len(ids) == 1
    for each in connections:
        await each.close()


async def test_schema_upgrade_under_running_nodes(database: Database) -> None:
    old = await made(database)
    await write(old, adding(1))
    # Statements are prepared by now; in a transaction, asyncpg cannot prepare one anew.
    await read_state(old)
    async with old.transaction():
        await rows.read_log(old, 0, 100)

    database.execute(EXPAND)
    await write(old, adding(2))
    new = await made(database)
    await write(new, adding(3))

    async with old.transaction():
        assert len(await rows.read_log(old, 0, 100)) == 3
    for each in (old, new):
        assert len((await read_state(each)).rows["acl"]) == 3
        assert [found.revision for found in await rows.read_log(each, 0, 100)] == [1, 2, 3]
        await each.close()


async def test_incompatible_schema_is_rejected(database: Database) -> None:
    connection = await made(database)
    await connection.execute(EXPAND)
    await connection.execute(CONTRACT)
    before = await meta(connection)

    with pytest.raises(StorageError, match=f"requires a Doorkeeper with schema version {NEXT}"):
        await prepare(connection, os.urandom)

    assert await meta(connection) == before
    await connection.close()


async def test_failed_creation_leaves_nothing(database: Database) -> None:
    connection = await asyncpg.connect(database.url())

    with pytest.raises(RuntimeError, match="no entropy"):
        await prepare(connection, no_bytes)

    assert await connection.fetchval("SELECT to_regnamespace('doorkeeper') IS NULL")
    await connection.close()


def no_bytes(_number: int) -> bytes:
    raise RuntimeError("no entropy")


async def test_minimal_database_permissions(database: Database) -> None:
    owner = await made(database)
    await owner.execute("GRANT USAGE ON SCHEMA doorkeeper TO PUBLIC")
    await owner.execute(
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA doorkeeper TO PUBLIC"
    )
    database.execute("CREATE ROLE plain LOGIN")
    url = database.url().replace("doorkeeper@", "plain@")

    plain = await asyncpg.connect(url)
    await write(plain, adding(1), edit(TOKEN, set=(token("t"),)))

    assert (await read_state(plain)).revision == 2
    await plain.close()
    await owner.close()
    database.drop()
    database.server.execute("DROP ROLE plain")
