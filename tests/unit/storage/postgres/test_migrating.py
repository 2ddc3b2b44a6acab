"""The schema is made once, and brought to later versions under running nodes."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import asyncpg
import pytest

from doorkeeper.kinds.change import edit
from doorkeeper.kinds.declared import TOKEN
from doorkeeper.state.store import StorageError
from doorkeeper.storage.postgres import rows
from doorkeeper.storage.postgres.migrating import migrate, plan_migration, prepare
from doorkeeper.storage.postgres.schema import VERSION, check_usable, meta, schema_state
from testkit.shared_stores import read_state, write
from testkit.stores import adding, token

if TYPE_CHECKING:
    from testkit.postgres import Database

pytestmark = pytest.mark.interop

NEXT = VERSION + 1


TABLES = ("item", "log", "head", "node", "meta")

STEPS = {
    NEXT: "".join(
        f"ALTER TABLE doorkeeper.{table} ADD COLUMN note text NOT NULL DEFAULT '100%';"
        for table in TABLES
    ),
    NEXT + 1: (
        "ALTER TABLE doorkeeper.item DROP COLUMN revision;"
        f"UPDATE doorkeeper.meta SET value = '{NEXT}' WHERE key IN ('min_reader', 'min_writer');"
    ),
}
"""Two made-up migrations: one that only adds, and one that removes."""


async def made(database: Database) -> asyncpg.Connection:
    connection = await asyncpg.connect(database.url())
    await prepare(connection, os.urandom)
    return connection


async def test_a_new_store_is_made_once(database: Database) -> None:
    """The first who comes makes it, with a cluster id; whoever comes later finds it."""
    connection = await made(database)

    values = await meta(connection)
    await prepare(connection, os.urandom)

    assert await meta(connection) == values
    assert [len(values[name]) for name in ("cluster_id", "store_id", "salt_key")] == [22, 22, 64]
    assert await rows.head(connection) == 0
    await connection.close()


async def test_of_two_at_once_one_waits(database: Database) -> None:
    """Nodes that start together on an empty database make one store."""
    connections = [await asyncpg.connect(database.url()) for _ in range(4)]

    await asyncio.gather(*(prepare(each, os.urandom) for each in connections))

    ids = {(await meta(each))["cluster_id"] for each in connections}
    assert len(ids) == 1
    for each in connections:
        await each.close()


async def test_old_and_new_write_one_schema(database: Database) -> None:
    """After a migration that only adds, what runs goes on, on connections that were open."""
    old = await made(database)
    await write(old, adding(1))
    # Statements are prepared by now; in a transaction, asyncpg cannot prepare one anew.
    await read_state(old)
    async with old.transaction():
        await rows.read_log(old, 0, 100)
    new = await asyncpg.connect(database.url())

    await migrate(new, os.urandom, version=NEXT, steps=STEPS)
    await write(old, adding(2))
    await write(new, adding(3))

    state = await schema_state(old)
    assert state is not None
    check_usable(state, version=VERSION)
    check_usable(state, version=NEXT)
    async with old.transaction():
        assert len(await rows.read_log(old, 0, 100)) == 3
    for each in (old, new):
        assert len((await read_state(each)).rows["acl"]) == 3
        assert [found.revision for found in await rows.read_log(each, 0, 100)] == [1, 2, 3]
        await each.close()


async def test_after_a_contraction_the_old_is_refused(database: Database) -> None:
    """When what it needs is gone, the older version does not start; the newer one does."""
    connection = await made(database)
    await migrate(connection, os.urandom, version=NEXT + 1, steps=STEPS)

    state = await schema_state(connection)

    assert state is not None
    check_usable(state, version=NEXT)
    with pytest.raises(StorageError, match=f"asks for a Doorkeeper of schema version {NEXT}"):
        check_usable(state, version=VERSION)
    with pytest.raises(StorageError, match="made by a newer Doorkeeper"):
        await plan_migration(connection)
    with pytest.raises(StorageError, match="asks for a Doorkeeper"):
        await prepare(connection, os.urandom)
    await connection.close()


async def test_a_migration_that_fails_leaves_nothing(database: Database) -> None:
    """All runs in one transaction."""
    connection = await made(database)
    steps = {NEXT: "CREATE TABLE doorkeeper.half (a int); SELECT 1 / 0;"}

    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate(connection, os.urandom, version=NEXT, steps=steps)

    state = await schema_state(connection)
    assert state is not None
    assert state.version == VERSION
    assert await connection.fetchval("SELECT to_regclass('doorkeeper.half') IS NULL")
    await connection.close()


async def test_a_role_needs_no_more_than_its_rights(database: Database) -> None:
    """Whoever migrates owns the tables; a server's role needs to read and write them only."""
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
