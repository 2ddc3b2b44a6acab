"""The log of the shared store: what is written is read, in order, without a gap."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import uuid4

import asyncpg
import pytest

from doorkeeper.storage.contract import Author, Change, ConfigKey, StorageError, StoredBinding
from doorkeeper.storage.postgres import rows
from doorkeeper.storage.postgres.schema import CHANNEL
from doorkeeper.storage.postgres.state import read_state
from testkit.shared_stores import NODE_ID, write
from testkit.stores import AUTHOR, adding, binding, credential, removing, token, topic

if TYPE_CHECKING:
    from testkit.postgres import Database

pytestmark = pytest.mark.interop

ALICE, BOB = credential("alice"), credential("bob\0", "SCRAM-SHA-512", 8192)

SETTING = Change(
    author=Author("User:\u00e9\0", "192.0.2.7", "SASL", ""),
    bindings_added=(binding(1), binding(2)),
    topics_added=(topic("a"), topic("b")),
    configs_set=((ConfigKey("", "super.users"), "User:a\0"), (ConfigKey("1", "k"), "")),
    credentials_set=(ALICE, BOB),
    tokens_set=(token("t1"), token("t2", "User:\ufdd0\0")),
)
TAKING = Change(
    author=AUTHOR,
    bindings_removed=(binding(1),),
    topics_removed=("a",),
    topics_altered=(topic("b", 9),),
    configs_deleted=(ConfigKey("1", "k"),),
    credentials_deleted=(BOB[0],),
    tokens_deleted=("t1",),
)


def odd(number: int) -> StoredBinding:
    """Return a binding whose name is long and holds what the database refuses."""
    found = binding(number)
    pattern = found.binding.pattern._replace(name="\0\ufdd0" + "x" * 30_000)
    return found._replace(binding=found.binding._replace(pattern=pattern))


async def test_a_change_comes_back(connection: asyncpg.Connection) -> None:
    """Every part of a change is read from the log as it was written, and who made it where."""
    batch = uuid4()

    await write(connection, SETTING, batch=batch)

    (found,) = await rows.read_log(connection, 0, 1)
    assert found.change == SETTING
    assert (found.revision, found.node_id, found.batch) == (1, NODE_ID, batch)
    age_ms = await connection.fetchval("SELECT extract(epoch FROM now()) * 1000") - found.time_ms
    assert 0 <= age_ms < 60_000


async def test_all_that_can_change_was_tried() -> None:
    """The two changes of this file together have every part that a change may have."""
    empty = [
        name for name in Change.FIELDS if not getattr(SETTING, name) and not getattr(TAKING, name)
    ]

    assert empty == []


@pytest.mark.parametrize("number", [1, 500])
async def test_the_state_follows_the_log(connection: asyncpg.Connection, number: int) -> None:
    """Rows few or many, changes in one commit or in two, the state is what the log says."""
    many = tuple(map(binding, range(10, 10 + number)))
    await write(connection, SETTING, Change(author=AUTHOR, bindings_added=many))
    await write(connection, TAKING)

    state = await read_state(connection)

    assert state.revision == 3
    assert sorted(state.bindings) == sorted((binding(2), *many))
    assert state.topics == (topic("b", 9),)
    assert state.configs == ((ConfigKey("", "super.users"), "User:a\0"),)
    assert state.credentials == (ALICE,)
    assert state.tokens == (token("t2", "User:\ufdd0\0"),)


async def test_one_commit_may_change_a_thing_often(connection: asyncpg.Connection) -> None:
    """Of changes of one thing in one commit the last one counts."""
    names = [ConfigKey("", "k")]
    await write(
        connection,
        SETTING,
        TAKING,
        Change(author=AUTHOR, topics_added=(topic("a", 5),), credentials_set=(BOB,)),
        Change(author=AUTHOR, configs_set=((names[0], "1"),), tokens_set=(token("t1"),)),
        Change(author=AUTHOR, configs_set=((names[0], "2"),), tokens_deleted=("t1",)),
        adding(5),
        removing(5),
    )

    state = await read_state(connection)

    assert [each.binding_id for each in state.bindings] == [binding(2).binding_id]
    assert [(each.name, each.partitions) for each in state.topics] == [("a", 5), ("b", 9)]
    assert dict(state.configs)[names[0]] == "2"
    assert dict(state.credentials).keys() == {ALICE[0], BOB[0]}
    assert [each.token_id for each in state.tokens] == ["t2"]
    assert state.revision == 7


async def test_long_and_odd_names_are_kept(connection: asyncpg.Connection) -> None:
    """A name of 30 KB with a character 0 is a name as any other."""
    long = "u\0" + "ä" * 20_000
    await write(
        connection,
        Change(author=AUTHOR, bindings_added=(odd(1),), credentials_set=(credential(long),)),
    )

    state = await read_state(connection)

    assert state.bindings == (odd(1),)
    assert state.credentials == (credential(long),)
    (found,) = await rows.read_log(connection, 0, 1)
    assert found.change.bindings_added == (odd(1),)


async def test_the_log_forgets_credentials(
    connection: asyncpg.Connection, database: Database
) -> None:
    """The log has neither salt nor keys; what was set is told as it is now, or as deleted."""
    newer = credential("alice", iterations=9000)
    await write(connection, SETTING)
    await write(connection, Change(author=AUTHOR, credentials_set=(newer,)))
    await write(connection, TAKING)

    first = (await rows.read_log(connection, 0, 1))[0].change

    assert first.credentials_set == (newer,)
    assert first.credentials_deleted == (BOB[0],)
    assert (
        database.execute("SELECT count(*), count(record) FROM doorkeeper.change_log WHERE kind = 8")
        == "3|0"
    )


async def test_a_gap_is_refused(connection: asyncpg.Connection) -> None:
    """Revisions follow the head, each after the one before; else nothing is written."""
    await write(connection, adding(1))

    for wrong in ([3], [2, 4], [0]):
        numbered = [(revision, adding(revision + 10)) for revision in wrong]
        with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="leave a gap"):
            await rows.write(connection, numbered, node_id=1, batch=uuid4())

    assert (await read_state(connection)).revision == 1
    assert len(await rows.read_log(connection, 0, 100)) == 1


async def test_what_is_not_there_is_not_deleted(connection: asyncpg.Connection) -> None:
    """A binding to delete that is not in the store fails the commit, and all with it."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="not in the store"):
        await write(connection, adding(1), removing(2))

    assert await rows.head(connection) == 0
    assert (await read_state(connection)).bindings == ()


async def test_writers_take_turns(database: Database, connection: asyncpg.Connection) -> None:
    """While one has the pen another waits, and then goes on from the newest revision."""
    other = await asyncpg.connect(database.url())
    transaction = connection.transaction()
    await transaction.start()
    first = await rows.take_pen(connection)
    waiting = asyncio.ensure_future(write(other, adding(2)))
    await asyncio.wait((waiting,), timeout=0.1)
    assert not waiting.done()

    await rows.write(connection, [(first + 1, adding(1))], node_id=1, batch=uuid4())
    await transaction.commit()

    assert await waiting == [2]
    await other.close()


async def test_the_bell_rings(database: Database, connection: asyncpg.Connection) -> None:
    """Each commit tells those who listen the newest revision, once it is durable."""
    heard: asyncio.Queue[str] = asyncio.Queue()
    other = await asyncpg.connect(database.url())
    await other.add_listener(CHANNEL, lambda *words: heard.put_nowait(str(words[3])))

    await write(connection, adding(1), adding(2))

    assert await asyncio.wait_for(heard.get(), 10) == "2"
    assert heard.empty()
    await other.close()


async def test_the_log_is_read_in_pages(connection: asyncpg.Connection) -> None:
    """A page ends with a whole revision, however many rows that one has."""
    await write(connection, adding(1), adding(*range(10, 40)), adding(2), adding(3))

    pages = []
    after = 0
    while page := await rows.read_log(connection, after, 5):
        pages.append([found.revision for found in page])
        after = pages[-1][-1]

    assert pages == [[1, 2], [3, 4]]
    big = (await rows.read_log(connection, 1, 1))[0]
    assert len(big.change.bindings_added) == 30


async def test_an_empty_commit_writes_nothing(connection: asyncpg.Connection) -> None:
    """Without changes there is no revision."""
    await rows.write(connection, [], node_id=1, batch=uuid4())

    assert await rows.head(connection) == 0


async def test_a_commit_is_recognised(connection: asyncpg.Connection) -> None:
    """By its id one finds out which revisions a commit became, or that it never did."""
    batch = uuid4()
    await write(connection, adding(1))
    await write(connection, adding(2), adding(3), batch=batch)

    assert await rows.revisions_of(connection, batch, 0) == [2, 3]
    assert await rows.revisions_of(connection, batch, 3) == []
    assert await rows.revisions_of(connection, uuid4(), 0) == []


async def test_old_revisions_are_pruned(connection: asyncpg.Connection) -> None:
    """What is older goes, whole revisions, in pieces; what is younger stays, and the newest."""
    for number in range(6):
        await write(connection, adding(number, 100 + number))
    hour_ms = 3_600_000
    await connection.execute(
        "UPDATE doorkeeper.change_log SET time_ms = time_ms - $1 WHERE revision IN (1, 2, 3, 5)",
        hour_ms,
    )

    went = [await rows.prune(connection, older_than_ms=hour_ms // 2, rows_max=4) for _ in range(4)]

    assert went == [True, True, False, False]
    assert [each.revision for each in await rows.read_log(connection, 0, 100)] == [4, 5, 6]
    assert await rows.prune(connection, older_than_ms=-hour_ms, rows_max=100)
    assert [each.revision for each in await rows.read_log(connection, 0, 100)] == [6]
    assert (await read_state(connection)).revision == 6


async def test_codes_of_nobody_are_told(connection: asyncpg.Connection) -> None:
    """A row that a newer version wrote, with a code that this one lacks, is an error."""
    await write(connection, adding(1))
    await connection.execute("UPDATE doorkeeper.change_log SET operation = 99")

    with pytest.raises(StorageError, match="cannot read: 99"):
        await rows.read_log(connection, 0, 10)
