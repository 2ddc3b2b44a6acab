"""The state as of any revision equals an independent replay, whatever happened to the store.

Changes of all kinds, in batches of several revisions, with restarts, a backup that is restored, and
pruning. The replay is of the changes as they were made, not of the log.
"""

from __future__ import annotations

import asyncio
import os
import random
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from doorkeeper.acls.model import ANY_BINDING
from doorkeeper.acls.search import find
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import Edit
from doorkeeper.server.schema.declared import (
    ACL,
    KINDS,
)
from doorkeeper.server.schema.kind import Item
from doorkeeper.server.state.history.moments import Moment
from doorkeeper.server.state.history.reading import BeforeHistory, revision_at, rows_at, state_of
from doorkeeper.server.state.history.verification import verify
from doorkeeper.server.state.postgres import portable
from doorkeeper.server.state.state import EMPTY, apply_at_once
from doorkeeper.server.state.storage.backup import backup, restore
from doorkeeper.server.state.storage.checking import findings
from doorkeeper.server.state.storage.portable_embedded import reading
from doorkeeper.server.state.storage.upkeep import prune
from testkit.shared_stores import prepared, write
from testkit.stores import NOW_MS, any_row, commit, open_store, started_store

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.schema.kind import Kind
    from doorkeeper.server.state.storage.portable import Portable
    from testkit.postgres import Database

KEYS = 12
"""Rows of a kind: few, so that they are often replaced and deleted."""

LENGTH = int(os.environ.get("DOORKEEPER_TEST_CHANGES", "600"))
MOMENTS = int(os.environ.get("DOORKEEPER_TEST_MOMENTS", "10"))

Replay = dict[str, dict[str, str]]


class History:
    """Random changes, and the replay of each revision."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rows: dict[Kind, dict[str, Any]] = {kind: {} for kind in KINDS.values()}
        self.changes: list[Change] = []
        self.replays: list[Replay] = [{}]

    def next(self) -> Change:
        change: dict[Kind, Edit] = {}
        while not change:
            for kind in self.random.sample(list(KINDS.values()), self.random.choice((1, 1, 2, 3))):
                edit = self._edit(kind)
                if edit.set or edit.deleted:
                    change[kind] = edit
        self.changes.append(change)
        self.replays.append(
            {
                kind.name: {item.key: item.value for item in map(kind.encode, rows.values())}
                for kind, rows in self.rows.items()
                if rows
            }
        )
        return change

    def _edit(self, kind: Kind) -> Edit:
        rows = self.rows[kind]
        made: dict[str, Any] = {}
        gone: dict[str, Any] = {}
        for _ in range(self.random.choice((1, 1, 1, 2, 5, 80))):
            row = any_row(kind, self.random.randrange(KEYS), self.random.randrange(100))
            key = kind.encode(row).key
            if key in made or key in gone:
                continue
            if key in rows and (kind is ACL or self.random.random() < 0.5):
                gone[key] = rows.pop(key)
            else:
                made[key] = rows[key] = row
        return Edit(tuple(made.values()), tuple(gone.values()))

    async def compare(self, store: Portable, first: int = 0) -> None:
        """Compare the states as of random revisions, the oldest and the newest."""
        newest = len(self.changes)
        some = [self.random.randint(first, newest) for _ in range(MOMENTS)]
        for revision in {first, newest, *some}:
            rows = await rows_at(store, revision)
            assert {name: table for name, table in rows.items() if table} == self.replays[revision]
            state = state_of(rows, revision)
            expected = EMPTY
            for kind in KINDS.values():
                table = self.replays[revision].get(kind.name, {})
                edit = Edit(tuple(_decode(kind, key, value) for key, value in table.items()))
                expected = apply_at_once(expected, {kind: edit})
            assert list(find(state.acls, ANY_BINDING)) == list(find(expected.acls, ANY_BINDING))
            assert state.topics.names() == expected.topics.names()
            assert set(state.configs) == set(expected.configs)
        assert (await verify(store)).findings == ()
        assert await findings(store) == []
        if first:
            with pytest.raises(BeforeHistory):
                await revision_at(store, Moment(first - 1, None))


def _decode(kind: Kind, key: str, value: str) -> Any:
    row = kind.decode(Item(key, value))
    assert not isinstance(row, StoredBinding) or row.binding_id == key
    return row


@pytest.mark.parametrize("seed", [1])
async def test_embedded_store_history(tmp_path: Path, seed: int) -> None:
    history, data_dir = History(seed), tmp_path / "data"
    chance = history.random

    async def go(changes: int) -> None:
        until = len(history.changes) + changes
        while len(history.changes) < until:
            store = started_store(data_dir)  # a restart
            for _ in range(chance.randint(1, 8)):
                await commit(store, *(history.next() for _ in range(chance.randint(1, 40))))
            store.close()

    await go(LENGTH // 2)
    async with reading(data_dir, alone=True) as store:
        await history.compare(store)
    backup(data_dir, tmp_path / "backup")
    kept = len(history.changes), history.rows
    history.rows = {kind: dict(rows) for kind, rows in history.rows.items()}
    await go(30)
    restore(tmp_path / "backup", data_dir, now_ms=lambda: NOW_MS)
    history.rows = kept[1]
    del history.changes[kept[0] :]
    del history.replays[kept[0] + 1 :]
    await go(LENGTH // 2)
    async with reading(data_dir, alone=True) as store:
        await history.compare(store)

    store_ = open_store(data_dir)
    connection = store_._connection
    rows = connection.execute("SELECT count(*) FROM change_log").get
    assert isinstance(rows, int)
    prune(connection, before_ms=NOW_MS + 1, rows=rows // 3)
    first = connection.execute("SELECT value FROM meta WHERE key = 'base_revision'").get
    store_.close()
    assert isinstance(first, int)
    assert first > 0
    async with reading(data_dir, alone=True) as store:
        await history.compare(store, first)


@pytest.mark.interop
async def test_shared_store_history(database: Database) -> None:
    history = History(3)
    await prepared(database)
    nodes = [await asyncpg.connect(database.url()) for _ in range(2)]
    while len(history.changes) < LENGTH // 4:
        count = history.random.randint(1, 20)
        await write(history.random.choice(nodes), *(history.next() for _ in range(count)))
    async with portable.reading(nodes[0], "store", alone=False) as store:
        await history.compare(store)

    first = 0
    for _ in range(3):
        first += history.random.randint(1, len(history.changes) // 5)
        await nodes[1].execute("DELETE FROM doorkeeper.log WHERE revision <= $1", first)
        async with portable.reading(nodes[0], "store", alone=False) as store:
            await history.compare(store, first)
    await asyncio.gather(*(node.close() for node in nodes))
