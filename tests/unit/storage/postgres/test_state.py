"""The whole state, as of one revision, and the same as the embedded store would have."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import asyncpg
import pytest

from doorkeeper.storage.contract import Change, ConfigKey, StorageError
from doorkeeper.storage.postgres.state import read_state
from testkit.counted import counted_calls
from testkit.shared_stores import write
from testkit.stores import AUTHOR, adding, credential, fill, open_store, removing, token, topic

if TYPE_CHECKING:
    from pathlib import Path

    from testkit.postgres import Database

pytestmark = pytest.mark.interop

CALLS_MAX = 10
"""For one binding, of Python functions and built-in ones; 100,000 of them take about 0.3 s."""


def random_changes(seed: int, number: int) -> list[Change]:
    """Return changes that a server might make: only what is there is removed."""
    chance = random.Random(seed)
    bindings: set[int] = set()
    topics: set[str] = set()
    changes = []
    for at in range(number):
        gone = [each for each in sorted(bindings) if chance.random() < 0.2]
        new = range(at * 10, at * 10 + chance.randrange(5))
        bindings = (bindings - set(gone)) | set(new)
        changes.append(adding(*new))
        changes.append(removing(*gone))
        name = chance.choice("abc")
        if name in topics:
            topics.discard(name)
            changes.append(Change(author=AUTHOR, topics_removed=(name,)))
        else:
            topics.add(name)
            changes.append(Change(author=AUTHOR, topics_added=(topic(name, at + 1),)))
        user = chance.choice(("x", "y"))
        changes.append(
            Change(
                author=AUTHOR,
                credentials_set=(credential(user, iterations=4096 + at),),
                tokens_set=(token(chance.choice("tuv"), f"User:{at}"),),
                configs_set=((ConfigKey(chance.choice(("", "1")), name), str(at)),),
            )
        )
    return [each for each in changes if each]


async def test_both_stores_hold_the_same(connection: asyncpg.Connection, tmp_path: Path) -> None:
    """The same changes lead to the same state in either store, commits being long or short."""
    changes = random_changes(7, 40)
    await fill(tmp_path, *changes)
    embedded = open_store(tmp_path)

    for start in range(0, len(changes), 9):
        await write(connection, *changes[start : start + 9])

    state = await read_state(connection)
    assert state.revision == embedded.revision == len(changes)
    assert sorted(state.bindings) == sorted(embedded.bindings())
    assert state.topics == tuple(embedded.topics())
    assert state.configs == tuple(embedded.configs())
    assert state.credentials == tuple(embedded.credentials())
    assert state.tokens == tuple(embedded.tokens())
    embedded.close()


async def test_the_state_is_of_one_moment(
    database: Database, connection: asyncpg.Connection
) -> None:
    """While others write, as many bindings are read as the revision says."""
    other = await asyncpg.connect(database.url())

    async def go_on() -> None:
        for number in range(60):
            await write(other, adding(number))

    writing = asyncio.ensure_future(go_on())
    while not writing.done():
        state = await read_state(connection)
        assert len(state.bindings) == state.revision
    await writing
    await other.close()


async def test_many_are_read_fast(connection: asyncpg.Connection) -> None:
    """Each binding costs a few calls, however many there are."""
    costs = []
    for numbers in (range(10_000), range(10_000, 40_000)):
        await write(connection, adding(*numbers))
        with counted_calls() as calls:
            state = await read_state(connection)
        assert len(state.bindings) == numbers.stop
        costs.append(calls.count / numbers.stop)

    assert max(costs) < CALLS_MAX


async def test_codes_of_nobody_are_told(connection: asyncpg.Connection) -> None:
    """A binding with a code that this version lacks is an error."""
    await write(connection, adding(1))
    await connection.execute("UPDATE doorkeeper.acl SET resource_type = 77")

    with pytest.raises(StorageError, match="the code 77"):
        await read_state(connection)


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        ("DELETE FROM doorkeeper.head", "the table head is empty"),
        ("UPDATE doorkeeper.topic SET topic = '{'", "of the topic 'a' cannot be read"),
        ("UPDATE doorkeeper.topic SET topic = '[]'", "of the topic 'a' cannot be read"),
        ("UPDATE doorkeeper.token SET token = '{}'", "of the token 't' cannot be read"),
    ],
)
async def test_damage_is_told(connection: asyncpg.Connection, damage: str, text: str) -> None:
    """A dump that was put back in part, or rows that somebody changed by hand."""
    await write(
        connection,
        Change(author=AUTHOR, topics_added=(topic("a", 1),), tokens_set=(token("t", "User:a"),)),
    )
    await connection.execute(damage)

    with pytest.raises(StorageError, match=f"the store is damaged: .*{text}"):
        await read_state(connection)
