"""A store that forgets."""

from __future__ import annotations

import asyncio

from doorkeeper.storage.contract import Change, StorageError
from doorkeeper.testing.memory_store import MemoryStore
from testkit.stores import AUTHOR, adding, credential, submitting, topic


def store(initial: Change) -> MemoryStore:
    return MemoryStore(initial, cluster_id="c" * 22, salt_key=bytes(32))


def test_it_begins_with_what_it_is_given() -> None:
    """Bindings, topics and credentials of the first change are there; nothing else is."""
    alice = credential("alice")
    initial = Change(
        author=AUTHOR,
        bindings_added=adding(1, 2).bindings_added,
        topics_added=(topic("orders"),),
        credentials_set=(alice,),
    )

    made = store(initial)

    assert list(made.bindings()) == list(adding(1, 2).bindings_added)
    assert list(made.topics()) == [topic("orders")]
    assert list(made.credentials()) == [alice]
    assert (list(made.configs()), list(made.tokens())) == ([], [])
    assert (made.cluster_id, made.salt_key, made.revision) == ("c" * 22, bytes(32), 0)


async def test_changes_are_counted_and_answered_later() -> None:
    """A change is answered in a later turn of the loop; an empty one is no revision."""
    made = store(Change(author=AUTHOR))
    made.start(asyncio.get_running_loop())

    first, empty = submitting(made, adding(1)), submitting(made, Change(author=AUTHOR))

    assert not first.done()
    assert (await first, await empty, made.revision) == (1, 1, 1)


async def test_a_closed_store_takes_nothing() -> None:
    """After the end a change fails."""
    made = store(Change(author=AUTHOR))
    made.start(asyncio.get_running_loop())
    made.close()

    assert isinstance(await submitting(made, adding(1)), StorageError)
