"""The hash chain and the base of a shared store, which triggers keep for nodes of two versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg
import pytest

from doorkeeper.kinds.change import Author, edit
from doorkeeper.kinds.declared import TOPIC
from doorkeeper.storage.portable import BASE, LOG, Base
from doorkeeper.storage.postgres import rows, schema
from doorkeeper.storage.postgres.migrating import migrate, sql_between
from doorkeeper.storage.postgres.portable import reading
from doorkeeper.storage.postgres.schema import VERSION
from doorkeeper.storage.rows import revision_hash
from testkit.portables import CHANGES, Held
from testkit.shared_stores import write
from testkit.stores import adding, removing, topic

if TYPE_CHECKING:
    from testkit.postgres import Database

pytestmark = pytest.mark.interop

CLIENT = Author("User:\ufdd0\0", "h", "l", "c\0", "java/4.3.1", 17)


async def held(connection: asyncpg.Connection) -> Held:
    async with reading(connection, "store", alone=False) as store:
        return await Held.of(store)


def replay(store: Held, until: int) -> dict[object, object]:
    found: dict[object, object] = {row[:2]: row[2] for row in store.tables[BASE]}
    for revision, _, kind, key, value, deleted, *_ in store.tables[LOG]:
        if store.kept.base.revision < int(revision or 0) <= until:
            found.pop((kind, key), None)
            if not deleted:
                found[kind, key] = value
    return found


def assert_chained(store: Held, previous: str = "") -> None:
    """Check all hashes by the function of the embedded store."""
    revisions = sorted({int(row[0] or 0) for row in store.tables[LOG]})
    for revision in revisions:
        some = [row for row in store.tables[LOG] if row[0] == revision]
        author = Author(*some[0][7:13])  # type: ignore[arg-type]
        runs = [(row[2], row[5], [(row[3], row[4], None)]) for row in some]
        previous = revision_hash(previous, revision, int(some[0][6] or 0), author, runs)  # type: ignore[arg-type]
        assert [row[13] for row in some] == [previous, *[None] * (len(some) - 1)]


async def test_revisions_are_chained(connection: asyncpg.Connection) -> None:
    """Those of a batch and of later ones, of few rows and many, as in an embedded store."""
    await write(connection, *CHANGES, author=CLIENT)
    await write(connection, adding(*range(100, 400)), author=CLIENT)
    await write(connection, removing(101))

    store = await held(connection)
    assert_chained(store)
    (first, *_) = await rows.read_log(connection, 0, 1)
    assert first.author == CLIENT
    assert store.kept.base.revision == 0


async def test_pruning_folds_the_log_into_the_base(connection: asyncpg.Connection) -> None:
    """By any node: the state as of each revision that is left is what it was."""
    changes = [*CHANGES, edit(TOPIC, deleted=[topic("b", 9)]), edit(TOPIC, set=[topic("b")])]
    for change in changes:
        await write(connection, change)
    whole = await held(connection)

    for first in range(2, len(changes) + 1):
        await connection.execute("DELETE FROM doorkeeper.log WHERE revision < $1", first)
        store = await held(connection)
        for revision in range(first - 1, len(changes) + 1):
            assert replay(store, revision) == replay(whole, revision)
        assert store.kept.base.revision == first - 1
        assert_chained(store, store.kept.base.hash)


@pytest.mark.parametrize("lost", ["nothing", "pruned"])
async def test_a_store_of_version_2_is_exact_from_a_revision(database: Database, lost: str) -> None:
    """From the first one if its log has everything, else from the newest at the migration."""
    connection = await asyncpg.connect(database.url())
    await connection.execute("CREATE SCHEMA doorkeeper;" + schema.TABLES_2)
    await schema.set_meta(connection, "cluster_id", "c")
    await schema.set_meta(connection, "salt_key", "ab")
    await connection.execute(
        "INSERT INTO doorkeeper.item VALUES ('feature', 'initial', '[1]', NULL, 0);"
        "INSERT INTO doorkeeper.log (revision, item, kind, key, value, deleted, time_ms,"
        " author_principal, author_host, author_listener, author_client_id) VALUES"
        " (1, 0, 'topic', 't', '[1]', false, 5, '', '', '', ''),"
        " (2, 0, 'topic', 't', '[1]', true, 6, '', '', '', '')"
    )
    if lost == "pruned":
        await connection.execute("DELETE FROM doorkeeper.log WHERE revision = 1")

    done = await migrate(connection, bytes)
    await write(connection, adding(1))

    assert done.statements == sql_between(2, VERSION)
    store = await held(connection)
    if lost == "nothing":
        assert store.kept.base == Base(0, "", 5)
    else:
        assert store.kept.base[:2] == (2, "")
    assert replay(store, 2) == {("feature", "initial"): "[1]"}
    assert len(replay(store, 3)) == 2
    await connection.close()
