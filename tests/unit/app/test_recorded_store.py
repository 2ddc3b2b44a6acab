"""doorkeeper.app.recorded_store: whatever becomes durable is told, and nothing else."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from doorkeeper.app.recorded_store import RecordedStore
from doorkeeper.storage.contract import Author, Change, StorageError, Store, StoredTopic
from doorkeeper.testing.memory_store import MemoryStore

AUTHOR = Author("User:root", "10.0.0.7", "PLAINTEXT", "c")
CHANGE = Change(author=AUTHOR, topics_added=(StoredTopic("orders", bytes(16), 1, 1, {}),))


def memory() -> MemoryStore:
    return MemoryStore(Change(author=AUTHOR), cluster_id="c" * 22, salt_key=bytes(32))


async def test_a_durable_change_is_told_first() -> None:
    """A change is told with its revision before it becomes visible; an empty one is not told."""
    told: list[object] = []
    store = RecordedStore(memory(), lambda change, revision: told.append((change, revision)))
    store.start(asyncio.get_running_loop())

    store.submit(lambda: CHANGE, told.append)
    store.submit(lambda: Change(author=AUTHOR), told.append)
    await asyncio.sleep(0)

    assert told == [(CHANGE, 1), 1, 1]


async def test_a_change_that_fails_is_not_told() -> None:
    """What was not stored did not happen."""
    told: list[object] = []
    store = RecordedStore(memory(), lambda change, revision: told.append((change, revision)))
    store.start(asyncio.get_running_loop())
    store.close()

    store.submit(lambda: CHANGE, told.append)
    await asyncio.sleep(0)

    (error,) = told
    assert isinstance(error, StorageError)


@pytest.mark.parametrize("name", [n for n in dir(Store) if not n.startswith("_")])
def test_everything_reaches_the_store(name: str) -> None:
    """All that the contract has, what has a default too, is handed on to the store."""
    assert name in vars(RecordedStore)
    assert "self._store." in inspect.getsource(
        getattr(vars(RecordedStore)[name], "fget", vars(RecordedStore)[name])
    )
