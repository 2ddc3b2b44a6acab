"""The shared store as one end of a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg
import pytest
from msgspec.structs import replace

from doorkeeper.server.state.postgres import rows
from doorkeeper.server.state.postgres.portable import reading, write
from doorkeeper.server.state.storage import portable_embedded
from doorkeeper.server.state.storage.portable import LOG
from doorkeeper.server.state.store import StorageError
from testkit.portables import CHANGES, Held, fill_fully
from testkit.shared_stores import NODE_ID
from testkit.shared_stores import write as commit
from testkit.stores import adding

if TYPE_CHECKING:
    from pathlib import Path

    from testkit.postgres import Database

pytestmark = pytest.mark.interop

NAME = "postgresql://h/d"
LIVES = (
    "INSERT INTO doorkeeper.node VALUES (5, gen_random_uuid(), now(), now(),"
    " now() + interval '1 minute', '')"
)


@pytest.fixture
async def source(tmp_path: Path) -> Held:
    """The rows of an embedded store with everything in it."""
    await fill_fully(tmp_path / "source")
    async with portable_embedded.reading(tmp_path / "source", alone=True) as store:
        return await Held.of(store)


async def held(connection: asyncpg.Connection) -> Held:
    async with reading(connection, NAME, alone=True) as store:
        return await Held.of(store)


async def test_copy_has_all_columns(connection: asyncpg.Connection, database: Database) -> None:
    await commit(connection, *CHANGES)
    await connection.execute(
        "INSERT INTO doorkeeper.log (revision, item, kind, key, value, secret, deleted,"
        " author_principal, author_host, author_listener, author_client_id)"
        " VALUES (5, 0, 'unknown', 'k', '[1]', '[2]', false, '', '', '', '')"
    )
    before = await held(connection)
    other = database.server.create_database()
    target = await asyncpg.connect(other.url())

    await write(target, NAME, before.kept, before.rows, overwrite=False)

    found, copied = [await rows.read_log(each, 0, 1000) for each in (connection, target)]
    assert found == copied
    copy = await held(target)
    assert copy.tables[LOG] == before.tables[LOG]
    assert {row[-2] for row in copy.tables[LOG][:4]} == {NODE_ID}
    assert ("unknown", "k", "[1]", "[2]", 5) in copy.tables["item"]
    await target.close()
    other.drop()


async def test_copy_overwrites_only_on_request(
    connection: asyncpg.Connection, source: Held
) -> None:
    await commit(connection, adding(77))

    with pytest.raises(StorageError, match="not empty"):
        await write(connection, NAME, source.kept, source.rows, overwrite=False)
    found = await held(connection)
    assert len(found.tables["item"]) == 1
    before = found.kept.store_id
    await write(connection, NAME, source.kept, source.rows, overwrite=True)

    after = await held(connection)
    assert after.kept == replace(source.kept, store_id=after.kept.store_id)
    assert after.kept.store_id not in (before, source.kept.store_id)


async def test_store_in_use_is_not_copied(connection: asyncpg.Connection, source: Held) -> None:
    await connection.execute(LIVES)

    with pytest.raises(StorageError, match="in use by the nodes 5; stop them first"):
        await held(connection)
    with pytest.raises(StorageError, match="in use by the nodes 5"):
        await write(connection, NAME, source.kept, source.rows, overwrite=True)
    async with reading(connection, NAME, alone=False) as store:
        assert (await store.header()).empty
    await connection.execute("UPDATE doorkeeper.node SET leaves_at = now()")
    await write(connection, NAME, source.kept, source.rows, overwrite=False)


async def test_failed_copy_leaves_nothing(database: Database, source: Held) -> None:
    connection = await asyncpg.connect(database.url())
    source.tables["item"].append(source.tables["item"][0])

    with pytest.raises(asyncpg.ExclusionViolationError):
        await write(connection, NAME, source.kept, source.rows, overwrite=False)

    with pytest.raises(StorageError, match="found no store in this database"):
        await held(connection)
    await connection.close()
