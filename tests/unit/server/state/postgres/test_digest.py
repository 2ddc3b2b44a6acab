"""Rows that are not those that the nodes wrote are found, and nothing where nothing is."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL, CONFIG, CREDENTIAL
from doorkeeper.server.state.postgres import digest
from doorkeeper.server.state.postgres.portable import reading
from doorkeeper.server.state.store import StateDiffers
from testkit.acl import READ, allow, topic
from testkit.shared_stores import read_state, write
from testkit.sharing import comes, node
from testkit.stores import adding, binding, config, credential, removing

if TYPE_CHECKING:
    import asyncpg

    from testkit.postgres import Database

pytestmark = pytest.mark.interop

CHANGES = (
    adding(1, 2, 3),
    edit(CONFIG, set=[config("log.retention.ms", "1")]),
    edit(CREDENTIAL, set=[credential("alice")]),
    {**adding(4), **edit(CONFIG, set=[config("log.retention.ms", "2")])},
    removing(2),
)

DIFFERENCES = {
    "all ACLs deleted": "DELETE FROM doorkeeper.item WHERE kind = 'acl'",
    "an ACL planted": "INSERT INTO doorkeeper.item"
    " SELECT kind, '9', value, NULL, 1 FROM doorkeeper.item WHERE kind = 'acl' LIMIT 1",
    "an earlier value": "UPDATE doorkeeper.item SET value ="
    " (SELECT value FROM doorkeeper.log WHERE revision = 2) WHERE kind = 'config'",
    "a secret changed": "UPDATE doorkeeper.item SET secret = '[]' WHERE kind = 'credential'",
}


@pytest.mark.parametrize("case", DIFFERENCES)
async def test_modified_rows_are_not_served(connection: asyncpg.Connection, case: str) -> None:
    await write(connection, *CHANGES)
    await connection.execute(DIFFERENCES[case])

    with pytest.raises(StateDiffers, match=r"not match revision 5: found digest .* expected"):
        await read_state(connection)
    async with reading(connection, "db", alone=False) as store:
        assert str(*await store.findings()).startswith("digest: the rows do not match")
    await digest.write_anew(connection)

    await write(connection, adding(10))
    assert await digest.finding(connection) is None


async def test_every_commit_updates_the_digest(connection: asyncpg.Connection) -> None:
    random, numbers, free = Random(5), set[int](), 0
    for size in (3, 300, 40, 1, 0, 500):
        changes = []
        for _ in range(random.choice((1, 2, 5))):
            gone = random.sample(sorted(numbers), len(numbers) // 2)
            new = range(free, free + size)
            free += size
            numbers = (numbers - set(gone)) | set(new)
            acls = edit(ACL, set=map(binding, new), deleted=map(binding, gone))
            others = [config(name, str(random.random())) for name in random.sample("abcd", 2)]
            changes.append({**acls, **edit(CONFIG, set=others)})
        await write(connection, *changes)
        assert await digest.finding(connection) is None

    assert len((await read_state(connection)).rows["acl"]) == len(numbers)


async def test_nodes_reject_modified_rows(database: Database) -> None:
    bindings = [allow("alice", READ, topic(name)) for name in "abcd"]
    async with node(database.url()) as one:
        for each in bindings[:3]:
            assert await one.create(each) is None
        database.execute(DIFFERENCES["all ACLs deleted"])

        with pytest.raises(StateDiffers, match="the rows do not match revision 3"):
            async with node(database.url()):
                pass
        database.terminate_backends()
        await comes(lambda: "the rows do not match" in (one.store.unavailable or ""))
        assert isinstance(await one.create(bindings[3]), StateDiffers)
        assert one.seen() == bindings[:3]

        database.execute("UPDATE doorkeeper.head SET digest = doorkeeper.digest()")
        await one.reachable()
        assert await one.create(bindings[3]) is None
