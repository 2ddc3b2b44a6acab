"""The log of the shared store: what is written is read, in order, without a gap."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING
from uuid import uuid4

import asyncpg
import pytest
from msgspec.structs import replace

from doorkeeper.server.schema.change import Author, Edit, edit
from doorkeeper.server.schema.declared import (
    ACL,
    CONFIG,
    CREDENTIAL,
    KINDS,
    TOKEN,
    TOPIC,
)
from doorkeeper.server.state.postgres import digest, rows
from doorkeeper.server.state.postgres.portable import reading
from doorkeeper.server.state.storage.portable import LOG
from doorkeeper.server.state.store import LogEntry, StorageError
from testkit.portables import Held
from testkit.shared_stores import NODE_ID, read_state, write
from testkit.stores import (
    AUTHOR,
    adding,
    any_row,
    binding,
    config,
    credential,
    removing,
    token,
    topic,
)

if TYPE_CHECKING:
    from doorkeeper.server.schema.acls import StoredBinding
    from testkit.postgres import Database

pytestmark = pytest.mark.interop

ALICE, BOB = credential("alice"), credential("bob\0", "SCRAM-SHA-512", 8192)
WRITER = Author("User:\u00e9\0", "192.0.2.7", "SASL", "")

SET = {
    **{kind: Edit((any_row(kind, 1, 2),)) for kind in KINDS.values()},
    **edit(ACL, set=(binding(1), binding(2))),
    **edit(TOPIC, set=(topic("a"), topic("b"))),
    **edit(CONFIG, set=(config("super.users", "User:a\0"), config("k", "", "1"))),
    **edit(CREDENTIAL, set=(ALICE, BOB)),
    **edit(TOKEN, set=(token("t1"), token("t2", "User:\ufdd0\0"))),
}
DELETED = {
    **{kind: Edit((), (any_row(kind, 1, 2),)) for kind in KINDS.values()},
    **edit(ACL, deleted=(binding(1),)),
    **edit(TOPIC, set=(topic("b", 9),), deleted=(topic("a"),)),
    **edit(CONFIG, deleted=(config("k", "", "1"),)),
    **edit(CREDENTIAL, deleted=(BOB,)),
    **edit(TOKEN, deleted=(token("t1"),)),
}


def odd(number: int) -> StoredBinding:
    """Return a binding whose name is long and holds what the database refuses."""
    found = binding(number)
    pattern = found.binding.pattern._replace(name="\0\ufdd0" + "x" * 30_000)
    return found._replace(binding=found.binding._replace(pattern=pattern))


async def test_change_round_trips(connection: asyncpg.Connection) -> None:
    batch = uuid4()

    await write(connection, SET, batch=batch, author=WRITER)

    (found,) = await rows.read_log(connection, 0, 1)
    assert found.change == SET
    assert (found.revision, found.batch) == (1, batch)
    async with reading(connection, "db", alone=False) as store:
        (row, *_) = (await Held.of(store)).tables[LOG]
    assert (row[7:13], row[-2]) == (WRITER, NODE_ID)
    age_ms = await connection.fetchval("SELECT extract(epoch FROM now()) * 1000") - row[6]
    assert 0 <= age_ms < 60_000


async def test_deletions_contain_the_row(connection: asyncpg.Connection) -> None:
    await write(connection, SET, DELETED)

    found = (await rows.read_log(connection, 1, 1))[0].change

    assert {kind: each.deleted for kind, each in found.items() if not kind.has_secrets} == {
        kind: each.deleted for kind, each in DELETED.items() if not kind.has_secrets
    }
    (gone,) = found[CREDENTIAL].deleted
    assert gone == replace(BOB, salt=b"", stored_key=b"", server_key=b"")


@pytest.mark.parametrize("number", [1, 500])
async def test_state_follows_the_log(connection: asyncpg.Connection, number: int) -> None:
    many = tuple(map(binding, range(10, 10 + number)))
    await write(connection, SET, edit(ACL, set=many))
    await write(connection, DELETED)

    state = await read_state(connection)

    assert state.revision == 3
    assert sorted(state.rows["acl"]) == sorted((binding(2), *many))
    assert state.rows["topic"] == [topic("b", 9)]
    assert state.rows["config"] == [config("super.users", "User:a\0")]
    assert state.rows["credential"] == [ALICE]
    assert state.rows["token"] == [token("t2", "User:\ufdd0\0")]


async def test_row_changed_repeatedly_in_one_commit(connection: asyncpg.Connection) -> None:
    await write(
        connection,
        SET,
        DELETED,
        edit(TOPIC, set=(topic("a", 5),)) | edit(CREDENTIAL, set=(BOB,)),
        edit(CONFIG, set=(config("k", "1"),)) | edit(TOKEN, set=(token("t1"),)),
        edit(CONFIG, set=(config("k", "2"),)) | edit(TOKEN, deleted=(token("t1"),)),
        adding(5),
        removing(5),
    )

    state = await read_state(connection)

    assert [each.binding_id for each in state.rows["acl"]] == [binding(2).binding_id]
    assert sorted((each.name, each.partitions) for each in state.rows["topic"]) == [
        ("a", 5),
        ("b", 9),
    ]
    assert config("k", "2") in state.rows["config"]
    assert sorted(state.rows["credential"]) == [ALICE, BOB]
    assert [each.token_id for each in state.rows["token"]] == ["t2"]
    assert state.revision == 7


async def test_long_and_unusual_names_round_trip(connection: asyncpg.Connection) -> None:
    """A name of 30 KB with a character 0 is a name as any other; so is one of a key."""
    long = "u\0" + "\u00e4" * 20_000
    await write(connection, edit(ACL, set=(odd(1),)) | edit(CREDENTIAL, set=(credential(long),)))

    state = await read_state(connection)

    assert state.rows["acl"] == [odd(1)]
    assert state.rows["credential"] == [credential(long)]
    (found,) = await rows.read_log(connection, 0, 1)
    assert found.change[ACL].set == (odd(1),)
    assert found.change[CREDENTIAL].set == (credential(long),)


async def test_log_contains_no_credentials(
    connection: asyncpg.Connection, database: Database
) -> None:
    newer = credential("alice", iterations=9000)
    await write(connection, SET)
    await write(connection, edit(CREDENTIAL, set=(newer,)))
    await write(connection, DELETED)

    first = (await rows.read_log(connection, 0, 1))[0].change

    assert first[CREDENTIAL].set == (newer,)
    assert [CREDENTIAL.key_of(row) for row in first[CREDENTIAL].deleted] == [CREDENTIAL.key_of(BOB)]
    count = 1 + sum(len(edit.set + edit.deleted) for edit in (*SET.values(), *DELETED.values()))
    counted = database.execute("SELECT count(*), count(secret) FROM doorkeeper.log")
    assert counted == f"{count}|0"


async def test_revision_gap_is_rejected(connection: asyncpg.Connection) -> None:
    await write(connection, adding(1))

    for wrong in ([3], [2, 4], [0]):
        entries = [LogEntry(revision, AUTHOR, adding(revision + 10)) for revision in wrong]
        with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="leave a gap"):
            await rows.write(connection, entries, node_id=1, batch=uuid4())

    assert (await read_state(connection)).revision == 1
    assert len(await rows.read_log(connection, 0, 100)) == 1


async def test_deletion_of_a_missing_row_fails(connection: asyncpg.Connection) -> None:
    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="not in the store"):
        await write(connection, adding(1), removing(2))

    assert await rows.head(connection) == 0
    assert (await read_state(connection)).rows["acl"] == []


async def test_writers_take_turns(database: Database, connection: asyncpg.Connection) -> None:
    """While one has the lease another waits, and then goes on from the newest revision."""
    other = await asyncpg.connect(database.url())
    transaction = connection.transaction()
    await transaction.start()
    first = await rows.take_lease(connection)
    waiting = asyncio.ensure_future(write(other, adding(2)))
    await asyncio.wait((waiting,), timeout=0.1)
    assert not waiting.done()

    entry = LogEntry(first + 1, AUTHOR, adding(1))
    await rows.write(connection, [entry], node_id=1, batch=uuid4())
    await transaction.commit()

    assert await waiting == [2]
    await other.close()


async def test_log_is_read_in_pages(connection: asyncpg.Connection) -> None:
    await write(connection, adding(1), adding(*range(10, 40)), adding(2), adding(3))

    pages = []
    after = 0
    while page := await rows.read_log(connection, after, 5):
        pages.append([found.revision for found in page])
        after = pages[-1][-1]

    assert pages == [[1, 2], [3, 4]]
    big = (await rows.read_log(connection, 1, 1))[0]
    assert len(big.change[ACL].set) == 30


async def test_unknown_kinds_are_skipped(connection: asyncpg.Connection) -> None:
    await write(connection, adding(1))
    await connection.execute(
        "INSERT INTO doorkeeper.log (revision, item, kind, key, value, deleted, author_principal,"
        " author_host, author_listener, author_client_id)"
        " VALUES (2, 0, 'later', 'k', '{}', false, '', '', '', '')"
    )
    await write(connection, adding(2))

    assert [each.change for each in await rows.read_log(connection, 0, 9)] == [
        adding(1),
        {},
        adding(2),
    ]
    state = await read_state(connection)
    assert (state.revision, state.rows.keys()) == (3, KINDS.keys())
    assert await connection.fetchval("SELECT count(*) FROM doorkeeper.item") == 3


async def test_old_revisions_are_pruned(connection: asyncpg.Connection) -> None:
    """What is older goes, whole revisions, in pieces; what is younger stays, and the newest."""
    for number in range(6):
        await write(connection, adding(number, 100 + number))
    hour_ms = 3_600_000
    await connection.execute(
        "UPDATE doorkeeper.log SET time_ms = time_ms - $1 WHERE revision IN (1, 2, 3, 5)", hour_ms
    )

    async def prune(older_than_ms: int, *, rows_max: int, behind_ms: int = -10 * hour_ms) -> bool:
        """Prune with a node's clock that is so far behind the database's."""
        now_ms = time.time_ns() // 1_000_000 - behind_ms
        return await rows.prune(
            connection, older_than_ms=older_than_ms, rows_max=rows_max, now_ms=now_ms
        )

    assert not await prune(hour_ms // 2, rows_max=100, behind_ms=hour_ms)
    went = [await prune(hour_ms // 2, rows_max=4) for _ in range(4)]

    assert went == [True, True, False, False]
    assert [each.revision for each in await rows.read_log(connection, 0, 100)] == [4, 5, 6]
    assert await prune(-hour_ms, rows_max=100)
    assert [each.revision for each in await rows.read_log(connection, 0, 100)] == [6]
    assert (await read_state(connection)).revision == 6


@pytest.mark.parametrize("value", ["{", "[1]", '[99,"n",3,"User:a","*",3,3]'])
async def test_unreadable_rows_are_an_error(connection: asyncpg.Connection, value: str) -> None:
    await write(connection, adding(1))
    await connection.execute("UPDATE doorkeeper.log SET value = $1", value)
    await connection.execute("UPDATE doorkeeper.item SET value = $1", value)
    await digest.write_anew(connection)

    with pytest.raises(StorageError, match="the log contains data that this version cannot read"):
        await rows.read_log(connection, 0, 10)
    with pytest.raises(StorageError, match="the store contains data that this version cannot read"):
        await read_state(connection)


async def test_store_without_secrets_or_head_is_rejected(
    connection: asyncpg.Connection,
) -> None:
    await write(connection, SET)
    await connection.execute("UPDATE doorkeeper.item SET secret = NULL")
    await digest.write_anew(connection)
    with pytest.raises(StorageError, match="has no secret"):
        await read_state(connection)

    await connection.execute("DELETE FROM doorkeeper.head")
    with pytest.raises(StorageError, match="the table head is empty"):
        await rows.head(connection)
