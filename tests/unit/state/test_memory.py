"""A store that forgets."""

from __future__ import annotations

import pytest

from doorkeeper.kinds.change import edit
from doorkeeper.kinds.declared import ACL, CONFIG, CREDENTIAL, TOPIC
from doorkeeper.state.memory import MemoryStore
from doorkeeper.state.store import StoreIdentity, StoreUnavailable
from testkit.stores import AUTHOR, adding, binding, commit, credential, topic


def test_it_begins_with_what_it_is_given() -> None:
    """The rows of the first change are there, as revision 0; nothing else is."""
    alice = credential("alice")
    initial = {
        **adding(1, 2),
        **edit(TOPIC, set=[topic("orders")]),
        **edit(CREDENTIAL, set=[alice]),
    }

    store = MemoryStore(initial, cluster_id="c" * 22, salt_key=bytes(32))

    assert list(store.rows(ACL)) == [binding(1), binding(2)]
    assert list(store.rows(TOPIC)) == [topic("orders")]
    assert list(store.rows(CREDENTIAL)) == [alice]
    assert list(store.rows(CONFIG)) == []
    assert store.identity == StoreIdentity("c" * 22, "c" * 22, bytes(32))
    assert store.revision == 0


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


async def test_a_closed_store_takes_nothing() -> None:
    """After the end there is no lease."""
    store = MemoryStore()
    await store.aclose()

    with pytest.raises(StoreUnavailable, match="closed"):
        await commit(store, adding(1))
