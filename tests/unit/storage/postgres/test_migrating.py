"""The schema is made once, and brought to later versions under running nodes."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from typing import TYPE_CHECKING

import asyncpg
import pytest

from doorkeeper.storage.contract import Change, StorageError
from doorkeeper.storage.postgres import rows
from doorkeeper.storage.postgres.migrating import migrate, planned, prepare, sql_between
from doorkeeper.storage.postgres.schema import VERSION, check_usable, meta, schema_state
from doorkeeper.storage.postgres.state import read_state
from testkit.shared_stores import CLUSTER_ID, SALT_KEY, write
from testkit.stores import AUTHOR, adding, token

if TYPE_CHECKING:
    from pathlib import Path

    from testkit.postgres import Database

pytestmark = pytest.mark.interop

NEXT = VERSION + 1


def given_id() -> str:
    return CLUSTER_ID


def given_key() -> bytes:
    return SALT_KEY


@pytest.fixture
def versions(tmp_path: Path) -> tuple[Path, ...]:
    """Two made-up migrations: one that only adds, and one that takes away."""
    tmp_path = tmp_path / "100% made up"
    tmp_path.mkdir()
    (tmp_path / "next_1.py").write_text(
        textwrap.dedent(
            f"""
            from alembic import op
            revision, down_revision = "{NEXT:04}", "{VERSION:04}"
            def upgrade():
                for table in ("acl", "topic", "config", "credential", "token", "change_log",
                              "head", "node", "meta"):
                    op.execute(f"ALTER TABLE doorkeeper.{{table}}"
                               " ADD COLUMN note text NOT NULL DEFAULT ''")
                op.execute("UPDATE doorkeeper.meta SET value = '{NEXT}'"
                           " WHERE key = 'schema_version'")
            """
        )
    )
    (tmp_path / "next_2.py").write_text(
        textwrap.dedent(
            f"""
            from alembic import op
            revision, down_revision = "{NEXT + 1:04}", "{NEXT:04}"
            def upgrade():
                op.execute("ALTER TABLE doorkeeper.acl DROP COLUMN revision")
                op.execute("UPDATE doorkeeper.meta SET value = '{NEXT + 1}'"
                           " WHERE key = 'schema_version'")
                op.execute("UPDATE doorkeeper.meta SET value = '{NEXT}'"
                           " WHERE key IN ('min_reader', 'min_writer')")
            """
        )
    )
    return (tmp_path,)


async def made(database: Database) -> asyncpg.Connection:
    connection = await asyncpg.connect(database.url())
    await prepare(connection, cluster_id=given_id, salt_key=given_key)
    return connection


async def test_a_new_store_is_made_once(database: Database) -> None:
    """The first who comes makes it, with a cluster id; whoever comes later finds it."""
    connection = await made(database)

    await prepare(connection, cluster_id=lambda: "B" * 22, salt_key=lambda: b"")

    values = await meta(connection)
    assert values["cluster_id"] == CLUSTER_ID
    assert bytes.fromhex(values["salt_key"]) == SALT_KEY
    assert await rows.head(connection) == 0
    await connection.close()


async def test_of_two_at_once_one_waits(database: Database) -> None:
    """Nodes that start together on an empty database make one store."""
    connections = [await asyncpg.connect(database.url()) for _ in range(4)]

    await asyncio.gather(
        *(
            prepare(each, cluster_id=lambda n=n: str(n) * 22, salt_key=given_key)  # type: ignore[misc]
            for n, each in enumerate(connections)
        )
    )

    ids = {(await meta(each))["cluster_id"] for each in connections}
    assert len(ids) == 1
    for each in connections:
        await each.close()


async def test_a_schema_made_for_us_is_used(database: Database) -> None:
    """A role that may not make schemas gets an empty one from its administrator."""
    database.execute("CREATE SCHEMA doorkeeper AUTHORIZATION doorkeeper")

    connection = await made(database)

    assert await schema_state(connection) is not None
    await connection.close()


async def test_the_plan_is_what_is_done(database: Database, versions: tuple[Path, ...]) -> None:
    """What a dry run prints changes nothing, and is the SQL that then runs."""
    connection = await made(database)

    plan = await planned(connection, version=NEXT, versions=versions)
    state = await schema_state(connection)
    assert state is not None
    assert state.version == VERSION
    done = await migrate(
        connection, cluster_id=given_id, salt_key=given_key, version=NEXT, versions=versions
    )

    assert plan == done
    assert (plan.before, plan.after) == (VERSION, NEXT)
    assert "ADD COLUMN note" in plan.statements
    again = await planned(connection, version=NEXT, versions=versions)
    assert (again.before, again.statements) == (NEXT, "")
    await connection.close()


async def test_old_and_new_write_one_schema(database: Database, versions: tuple[Path, ...]) -> None:
    """After a migration that only adds, what runs goes on, on connections that were open."""
    old = await made(database)
    await write(old, adding(1))
    # Statements are prepared by now; in a transaction, asyncpg cannot prepare one anew.
    await read_state(old)
    async with old.transaction():
        await rows.read_log(old, 0, 100)
    new = await asyncpg.connect(database.url())

    await migrate(new, cluster_id=given_id, salt_key=given_key, version=NEXT, versions=versions)
    await write(old, adding(2))
    await write(new, adding(3))

    state = await schema_state(old)
    assert state is not None
    check_usable(state, version=VERSION)
    check_usable(state, version=NEXT)
    async with old.transaction():
        assert len(await rows.read_log(old, 0, 100)) == 3
    for each in (old, new):
        assert len((await read_state(each)).bindings) == 3
        assert [found.revision for found in await rows.read_log(each, 0, 100)] == [1, 2, 3]
        await each.close()


async def test_after_a_contraction_the_old_is_refused(
    database: Database, versions: tuple[Path, ...]
) -> None:
    """When what it needs is gone, the older version does not start; the newer one does."""
    connection = await made(database)
    await migrate(
        connection, cluster_id=given_id, salt_key=given_key, version=NEXT + 1, versions=versions
    )

    state = await schema_state(connection)

    assert state is not None
    check_usable(state, version=NEXT)
    with pytest.raises(StorageError, match=f"asks for a Doorkeeper of schema version {NEXT}"):
        check_usable(state, version=VERSION)
    with pytest.raises(StorageError, match="made by a newer Doorkeeper"):
        await planned(connection)
    with pytest.raises(StorageError, match="asks for a Doorkeeper"):
        await prepare(connection, cluster_id=given_id, salt_key=given_key)
    await connection.close()


async def test_a_migration_that_fails_leaves_nothing(database: Database, tmp_path: Path) -> None:
    """All runs in one transaction."""
    connection = await made(database)
    (tmp_path / "broken.py").write_text(
        textwrap.dedent(
            f"""
            from alembic import op
            revision, down_revision = "{NEXT:04}", "{VERSION:04}"
            def upgrade():
                op.execute("CREATE TABLE doorkeeper.half (a int)")
                op.execute("SELECT 1 / 0")
            """
        )
    )

    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate(
            connection, cluster_id=given_id, salt_key=given_key, version=NEXT, versions=(tmp_path,)
        )

    state = await schema_state(connection)
    assert state is not None
    assert state.version == VERSION
    assert await connection.fetchval("SELECT to_regclass('doorkeeper.half') IS NULL")
    await connection.close()


def test_nothing_to_do_is_no_sql() -> None:
    """From a version to itself there are no statements."""
    assert sql_between(VERSION, VERSION) == ""


async def test_alembic_agrees(database: Database) -> None:
    """alembic's own table has the version that meta has."""
    connection = await made(database)

    found = await connection.fetchval("SELECT version_num FROM doorkeeper.alembic_version")

    assert int(found) == VERSION
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
    await write(plain, adding(1), Change(author=AUTHOR, tokens_set=(token("t"),)))

    assert (await read_state(plain)).revision == 2
    await plain.close()
    await owner.close()
    database.drop()
    database.server.execute("DROP ROLE plain")


def test_without_alembic_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A half-installed extra is told in one line, with what to install."""
    monkeypatch.setitem(sys.modules, "alembic", None)

    with pytest.raises(StorageError, match=r"pip install 'doorkeeper\[postgres\]'") as caught:
        sql_between(0, VERSION)

    assert "\n" not in str(caught.value)
