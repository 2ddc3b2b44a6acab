"""The hash chain and the base of a shared store, which triggers keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.schema.change import Author, edit
from doorkeeper.server.schema.declared import TOPIC
from doorkeeper.server.state.postgres.portable import reading
from doorkeeper.server.state.storage.portable import BASE, LOG
from doorkeeper.server.state.storage.rows import revision_hash
from testkit.portables import CHANGES, Held
from testkit.shared_stores import write
from testkit.stores import adding, removing, topic

if TYPE_CHECKING:
    import asyncpg

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
        author = Author(*some[0][7:13])
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
    assert store.tables[LOG][0][7:13] == CLIENT
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
