from __future__ import annotations

import pytest

from doorkeeper.metrics.hooks import StoreSight
from doorkeeper.storage.contract import Change, ConfigKey
from doorkeeper.testing.memory_store import MemoryStore
from testkit.stores import AUTHOR, binding, credential, token, topic


def test_a_change_without_items_is_empty() -> None:
    """A change that holds an author only is false: there is nothing to write."""
    assert not Change(author=AUTHOR)


@pytest.mark.parametrize(
    "change",
    [
        Change(author=AUTHOR, bindings_added=(binding(1),)),
        Change(author=AUTHOR, bindings_removed=(binding(1),)),
        Change(author=AUTHOR, topics_added=(topic("orders"),)),
        Change(author=AUTHOR, topics_removed=("orders",)),
        Change(author=AUTHOR, topics_altered=(topic("orders"),)),
        Change(author=AUTHOR, configs_set=((ConfigKey("1", "super.users"), "User:a"),)),
        Change(author=AUTHOR, configs_deleted=(ConfigKey("1", "super.users"),)),
        Change(author=AUTHOR, credentials_set=(credential("alice"),)),
        Change(author=AUTHOR, credentials_deleted=(credential("alice")[0],)),
        Change(author=AUTHOR, tokens_set=(token("id"),)),
        Change(author=AUTHOR, tokens_deleted=("id",)),
    ],
)
def test_one_item_of_any_kind_is_something_to_write(change: Change) -> None:
    """A change with one item, whichever its kind, is true."""
    assert change


def test_a_credential_shows_its_iterations_only() -> None:
    """Whoever prints a change shows neither salts nor keys: they let one try passwords."""
    change = Change(author=AUTHOR, credentials_set=(credential("alice", iterations=8192),))

    assert "ScramCredential(8192 iterations)" in repr(change)
    assert "stored" not in repr(change)


def test_a_store_of_one_node_is_always_in_sight() -> None:
    """Where no other node writes, nothing is newer than what this one has."""
    store = MemoryStore(Change(author=AUTHOR), cluster_id="c" * 22, salt_key=b"s" * 32)

    assert store.sight() == StoreSight(
        reachable=True, revision=store.revision, head_revision=store.revision, age_s=0.0
    )
