"""A store that forgets."""

from __future__ import annotations

import pytest

from doorkeeper.server.state.memory import MemoryStore
from doorkeeper.server.state.store import StoreUnavailable
from testkit.stores import AUTHOR, adding, commit


async def test_commits_are_kept_in_order() -> None:
    """The head counts them."""
    store = MemoryStore()

    assert await commit(store, adding(1), adding(2)) == 2
    assert await commit(store, adding(3)) == 3

    assert [(entry.revision, entry.author) for entry in store.entries] == [
        (1, AUTHOR),
        (2, AUTHOR),
        (3, AUTHOR),
    ]


async def test_closed_store_rejects_changes() -> None:
    store = MemoryStore()
    await store.aclose()

    with pytest.raises(StoreUnavailable, match="closed"):
        await commit(store, adding(1))
