"""The base and the log together are the state as of each revision that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import CONFIG, TOPIC
from doorkeeper.server.state.history.verification import verify
from doorkeeper.server.state.storage import schema
from doorkeeper.server.state.storage.portable import Base
from doorkeeper.server.state.storage.portable_embedded import reading
from doorkeeper.server.state.storage.upkeep import prune
from doorkeeper.server.state.store import StoreIdentity
from testkit.portables import CHANGES
from testkit.stores import (
    AUTHOR,
    NOW_MS,
    adding,
    append,
    config,
    create_tables,
    fill,
    removing,
    topic,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

State = dict[tuple[object, object], object]


@pytest.fixture
def connection() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    create_tables(connection)
    yield connection
    connection.close()


def state(connection: apsw.Connection, table: str = "item") -> State:
    rows = connection.execute(f"SELECT kind, key, value FROM {table}")
    return {(kind, key): value for kind, key, value in rows}


def replay(connection: apsw.Connection, until: int) -> State:
    """Apply the log up to a revision to the base."""
    found = state(connection, "base")
    rows = connection.execute(
        "SELECT kind, key, value, deleted FROM change_log WHERE revision <= ?"
        " AND revision > (SELECT value FROM meta WHERE key = 'base_revision')"
        " ORDER BY revision, item",
        (until,),
    )
    for kind, key, value, deleted in rows:
        found.pop((kind, key), None)
        if not deleted:
            found[kind, key] = value
    return found


def test_pruning_folds_the_log_into_the_base(connection: apsw.Connection) -> None:
    """Whatever is pruned, the state as of each revision that is left is what it was."""
    changes = [
        *CHANGES,
        edit(TOPIC, set=[topic("b", 5)]),
        edit(TOPIC, deleted=[topic("b", 5)]),
        edit(TOPIC, set=[topic("b", 7)]),
        removing(*range(5, 15)),
    ]
    states = []
    for revision, change in enumerate(changes, 1):
        append(connection, change, revision, NOW_MS + revision)
        states.append(state(connection))

    for first in range(2, len(changes) + 1):
        assert prune(connection, before_ms=NOW_MS + first)
        for revision in range(first - 1, len(changes) + 1):
            assert replay(connection, revision) == states[revision - 1]
        base = schema.base(connection)
        assert (base.revision, base.time_ms) == (first - 1, NOW_MS + first - 1)
        assert len(base.hash) == 64
    assert not prune(connection, before_ms=NOW_MS + 1000)


async def test_chain_covers_all_revisions(data_dir: Path) -> None:
    await fill(data_dir, adding(1), adding(*range(2, 200)))
    await fill(data_dir, edit(CONFIG, set=[config("a\0", "b")]))

    async with reading(data_dir, alone=True) as store:
        found = await verify(store)
    assert (found.last, found.findings) == (3, ())


def test_new_store_has_initial_rows_as_base() -> None:
    """They are the state at revision 0."""
    connection = apsw.Connection(":memory:")
    identity = StoreIdentity("c", "s", b"")
    schema.create(connection, identity, NOW_MS, edit(TOPIC, set=[topic("t")]))

    append(connection, edit(TOPIC, set=[topic("t", 9)]), 1)

    assert schema.base(connection) == Base(0, "", NOW_MS)
    assert state(connection, "base") == {("topic", "t"): TOPIC.encode(topic("t")).value}
    assert AUTHOR.software == ""
    connection.close()
