"""A database of schema version 1 is migrated, and used by code of both versions."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import asyncpg
import pytest

from doorkeeper.acl.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.kinds.acls import StoredBinding
from doorkeeper.kinds.change import Author, edit
from doorkeeper.kinds.declared import (
    ACL,
    CONFIG,
    CREDENTIAL,
    KINDS,
    TOKEN,
    TOPIC,
    StoredConfig,
    StoredCredential,
    StoredToken,
    StoredTopic,
)
from doorkeeper.state.store import StorageError
from doorkeeper.storage.postgres import rows
from doorkeeper.storage.postgres.migrating import finish, migrate, plan_migration
from doorkeeper.storage.postgres.schema import meta, schema_state
from testkit.previous import run_previous
from testkit.shared_stores import read_state, write

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from doorkeeper.kinds.change import Change
    from doorkeeper.state.store import StoredState
    from testkit.postgres import Database

pytestmark = pytest.mark.interop

NAME: Final = 'n\0\ufdd0"\\u0000\\\\\u00e9' + "x" * 9_000
"""A name with all that is written in another way in one version or the other, and long."""

AUTHOR: Final = Author("User:\u00e9\0", "192.0.2.7", "SASL", "\ufdd0")

PREVIOUS: Final = """
import ast, asyncio, sys
from uuid import uuid4

import asyncpg

from doorkeeper.acl.model import *
from doorkeeper.acl.model import AccessControlEntry, AclBinding, ResourcePattern
from doorkeeper.authn.credentials import ScramCredential
from doorkeeper.storage.contract import *
from doorkeeper.storage.contract import Author, Change, ConfigKey, CredentialKey
from doorkeeper.storage.postgres import migrating, rows
from doorkeeper.storage.postgres.schema import check_usable, schema_state
from doorkeeper.storage.postgres.state import read_state

NAME, AUTHOR = ast.literal_eval(sys.argv[3])


def binding(number):
    kind, pattern, operation, permission = ResourceType(2), PatternType(3), AclOperation(3), 3
    entry = AccessControlEntry("User:" + NAME, "*", operation, AclPermissionType(permission))
    return StoredBinding(f"{number:022}", AclBinding(ResourcePattern(kind, NAME, pattern), entry))


def change(number):
    user = CredentialKey(NAME, "SCRAM-SHA-512")
    credential = ScramCredential(b"salt\\0", b"s" * 64, b"\\xff" * 64, 4096 + number)
    token = StoredToken("t", "User:" + NAME, "User:b", (NAME, "User:c"), 1, 2, 3, b"\\0\\xff" * 40)
    topic = StoredTopic("orders", bytes(range(16)), number, 1, {"a": NAME, "b": ""})
    return Change(
        author=Author(*AUTHOR),
        bindings_added=(binding(number),),
        topics_added=(topic,),
        configs_set=((ConfigKey("", NAME), NAME), (ConfigKey("1", "k"), str(number))),
        credentials_set=((user, credential),),
        tokens_set=(token,),
    )


def deletion(number):
    return Change(
        author=Author(*AUTHOR),
        bindings_removed=(binding(number),),
        topics_removed=("orders",),
        configs_deleted=(ConfigKey("", NAME),),
        credentials_deleted=(CredentialKey(NAME, "SCRAM-SHA-512"),),
        tokens_deleted=("t",),
    )


async def main():
    connection = await asyncpg.connect(sys.argv[1])
    words = sys.argv[2].split()
    if words[0] == "create":
        await migrating.prepare(
            connection, cluster_id=lambda: "A" * 22, salt_key=lambda: b"salt" * 8
        )
    check_usable(await schema_state(connection))
    if words[0] in ("set", "delete"):
        numbers = range(int(words[1]), int(words[2]))
        make = change if words[0] == "set" else deletion
        async with connection.transaction():
            first = await rows.take_pen(connection) + 1
            changes = list(enumerate(map(make, numbers), first))
            await rows.write(connection, changes, node_id=1, batch=uuid4())
    elif words[0] == "fill":
        many = [binding(n) for n in range(1000, 2000)]
        whole = Change(author=Author(*AUTHOR), bindings_added=tuple(many))
        async with connection.transaction():
            first = await rows.take_pen(connection) + 1
            await rows.write(connection, [(first, whole)], node_id=1, batch=uuid4())
    elif words[0] == "prune":
        assert not await rows.prune(connection, older_than_ms=-3_600_000, rows_max=1_000_000)
    state = await read_state(connection)
    print(state.revision, len(state.bindings))
    parts = state.bindings[:3], state.topics, state.configs, state.credentials, state.tokens
    print([[plain(each) for each in part] for part in parts])
    for found in await rows.read_log(connection, int(words[-1]) if words[0] == "log" else 0, 9999):
        text = " ".join(
            f"{name}={len(getattr(found.change, name))}"
            for name in Change.FIELDS if name != "author" and getattr(found.change, name)
        )
        print(found.revision, found.node_id, found.change.author == Author(*AUTHOR), text)


def plain(value):
    if isinstance(value, tuple):
        return tuple(plain(each) for each in value)
    return int(value) if isinstance(value, int) else value


asyncio.run(main())
"""


def previous(database: Database, words: str) -> tuple[str, list[Any], list[str]]:
    """Run the code of version 1; return its revision and number of ACLs, its state, its log."""
    given = repr((NAME, AUTHOR[:4]))
    head, state, *log = run_previous(PREVIOUS, database.url(), words, given).splitlines()
    return head, ast.literal_eval(state), log


def binding(number: int) -> StoredBinding:
    entry = AccessControlEntry("User:" + NAME, "*", AclOperation.READ, AclPermissionType.ALLOW)
    pattern = ResourcePattern(ResourceType.TOPIC, NAME, PatternType.LITERAL)
    return StoredBinding(f"{number:022}", AclBinding(pattern, entry))


def change(number: int) -> Change:
    """Return what ``change`` of the script above makes."""
    token = StoredToken("t", "User:" + NAME, "User:b", (NAME, "User:c"), 1, 2, 3, b"\0\xff" * 40)
    topic = StoredTopic("orders", bytes(range(16)), number, 1, {"a": NAME, "b": ""})
    keys = (b"salt\0", b"s" * 64, b"\xff" * 64)
    return {
        **edit(ACL, set=[binding(number)]),
        **edit(TOPIC, set=[topic]),
        **edit(CONFIG, set=[StoredConfig("", NAME, NAME), StoredConfig("1", "k", str(number))]),
        **edit(CREDENTIAL, set=[StoredCredential(NAME, "SCRAM-SHA-512", *keys, 4096 + number)]),
        **edit(TOKEN, set=[token]),
    }


def deletion(number: int) -> Change:
    """Return what ``deletion`` of the script above makes, with the rows as they were."""
    made = change(number)
    rows_of = {kind: list(made[kind].set) for kind in (ACL, TOPIC, CONFIG, CREDENTIAL, TOKEN)}
    rows_of[CONFIG].pop()
    return {kind: each for kind in rows_of for each in edit(kind, deleted=rows_of[kind]).values()}


def as_tuple(state: StoredState) -> list[list[Any]]:
    """Return a state as the script above prints it."""

    def plain(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(plain(each) for each in value)
        return int(value) if isinstance(value, int) else value

    found = {name: sorted(state.rows[name]) for name in KINDS}
    topics = [each[:5] for each in found["topic"]]  # version 1 has no assignments
    configs = [((broker, name), value) for broker, name, value in found["config"]]
    credentials = [((user, name), tuple(rest)) for user, name, *rest in found["credential"]]
    return [
        [plain(each) for each in part]
        for part in (found["acl"][:3], topics, configs, credentials, found["token"])
    ]


def expected(*changes: Change) -> dict[str, list[Any]]:
    """Return the rows that changes lead to."""
    table: dict[tuple[str, Any], Any] = {}
    for each in changes:
        for kind, edits in each.items():
            for row in edits.deleted:
                del table[kind.name, row[: kind.key_columns]]
            for row in edits.set:
                table[kind.name, row[: kind.key_columns]] = row
    return {name: sorted(row for (kind, _), row in table.items() if kind == name) for name in KINDS}


def rows_of(state: StoredState) -> dict[str, list[Any]]:
    return {name: sorted(state.rows[name]) for name in KINDS}


@pytest.fixture
async def connection(database: Database) -> AsyncIterator[asyncpg.Connection]:
    opened = await asyncpg.connect(database.url())
    yield opened
    await opened.close()


async def test_a_database_of_version_1_is_migrated(
    database: Database, connection: asyncpg.Connection
) -> None:
    """State, log, authors and times are what they were, and the identity gets a store id."""
    previous(database, "create")
    previous(database, "set 1 4")
    previous(database, "delete 2 3")
    old_head, old_state, _ = previous(database, "set 9 10")
    times = database.execute("SELECT time_ms FROM doorkeeper.change_log ORDER BY revision, item")

    plan = await plan_migration(connection)
    done = await migrate(connection, os.urandom)

    assert done == plan
    state = await read_state(connection)
    changes = [change(1), change(2), change(3), deletion(2), change(9)]
    assert (state.revision, old_head) == (5, "5 3")
    assert rows_of(state) == expected(*changes)
    assert [sorted(part) for part in old_state] == as_tuple(state)
    logged = await rows.read_log(connection, 0, 100)
    assert [each.revision for each in logged] == [1, 2, 3, 4, 5]
    assert {each.author for each in logged} == {AUTHOR}
    assert logged[4].change == change(9)
    assert logged[3].change[TOPIC].deleted == change(3)[TOPIC].set
    assert times == database.execute("SELECT time_ms FROM doorkeeper.log ORDER BY revision, item")
    values = await meta(connection)
    assert (values["cluster_id"], len(values["store_id"])) == ("A" * 22, 22)


async def test_each_version_reads_what_the_other_wrote(
    database: Database, connection: asyncpg.Connection
) -> None:
    """Rows of every kind cross both ways, by the state and by the log."""
    previous(database, "create")
    await migrate(connection, os.urandom)

    await write(connection, change(1), author=AUTHOR)
    previous(database, "set 2 4")
    await write(connection, deletion(3), author=AUTHOR)
    previous(database, "set 4 5")
    previous(database, "delete 4 5")
    head, state, log = previous(database, "set 5 6")

    found = await read_state(connection)
    assert rows_of(found) == expected(
        change(1), change(2), change(3), deletion(3), change(4), deletion(4), change(5)
    )
    assert head == "7 3"
    assert [sorted(part) for part in state] == as_tuple(found)
    last = ("bindings_added=1", "configs_set=2", "credentials_set=1", "tokens_set=1")
    assert sorted(log[6].split()[3:]) == sorted((*last, "topics_altered=1"))
    assert "topics_removed=1" in log[5]
    assert {line.split()[2] for line in log} == {"True"}
    logged = await rows.read_log(connection, 0, 1000)
    assert [each.revision for each in logged] == list(range(1, 8))
    assert logged[6].change == change(5)
    assert logged[5].change[CONFIG].deleted == change(4)[CONFIG].set[:1]


async def test_many_rows_of_version_1(database: Database, connection: asyncpg.Connection) -> None:
    """What version 1 copies in arrives. It does not prune: its nodes would delete row by row."""
    previous(database, "create")
    await migrate(connection, os.urandom)
    await write(connection, change(1))

    previous(database, "fill")

    state = await read_state(connection)
    assert (state.revision, len(state.rows["acl"])) == (2, 1001)
    previous(database, "prune")
    assert [each.revision for each in await rows.read_log(connection, 0, 9999)] == [1, 2]


async def test_a_kind_that_version_1_does_not_have(
    database: Database, connection: asyncpg.Connection
) -> None:
    """It is in no table of version 1: a revision is missing there, and its head goes on."""
    previous(database, "create")
    await migrate(connection, os.urandom)
    await write(connection, change(1))
    await connection.execute(
        "INSERT INTO doorkeeper.log (revision, item, kind, key, value, deleted, author_principal,"
        " author_host, author_listener, author_client_id)"
        " VALUES (2, 0, 'unknown', 'k', '[1]', false, '', '', '', '')"
    )

    head, _, log = previous(database, "set 2 3")

    assert head == "3 2"
    assert [line.split()[0] for line in log] == ["1", "3"]
    logged = await rows.read_log(connection, 0, 100)
    assert [each.revision for each in logged] == [1, 2, 3]
    assert logged[1].change == {}


async def test_the_end_of_version_1(database: Database, connection: asyncpg.Connection) -> None:
    """While one of its nodes lives it is refused; then nothing of it is left, and it is refused."""
    previous(database, "create")
    await migrate(connection, os.urandom)
    await write(connection, change(1))
    await connection.execute(
        "INSERT INTO doorkeeper.node VALUES"
        " (4, $1, now(), now(), now() + interval '1 hour', '{\"secret\": \"\"}')",
        uuid4(),
    )

    with pytest.raises(StorageError, match="nodes 4 are of an older version"):
        await finish(connection)
    await connection.execute("DELETE FROM doorkeeper.node")
    assert await finish(connection)

    assert not await finish(connection)
    tables = "SELECT relname FROM pg_class WHERE relnamespace = 'doorkeeper'::regnamespace"
    assert {row[0] for row in await connection.fetch(f"{tables} AND relkind IN ('r', 'v')")} == {
        "base", "head", "item", "log", "meta", "node",
    }  # fmt: skip
    assert await schema_state(connection) == (3, 2, 2)
    with pytest.raises(RuntimeError, match="asks for a Doorkeeper of schema version 2"):
        previous(database, "read")
    await write(connection, deletion(1))
    assert (await read_state(connection)).rows["acl"] == []


async def test_the_rights_of_a_role_stay(
    database: Database, connection: asyncpg.Connection
) -> None:
    """A role that may only read and write the tables of version 1 may do so afterwards."""
    previous(database, "create")
    await connection.execute("GRANT USAGE ON SCHEMA doorkeeper TO PUBLIC")
    await connection.execute(
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA doorkeeper TO PUBLIC"
    )
    database.execute("CREATE ROLE migrated LOGIN")
    url = database.url()

    await migrate(connection, os.urandom)

    try:
        plain = await asyncpg.connect(url.replace("doorkeeper@", "migrated@"))
        await write(plain, change(1))
        script = (url.replace("doorkeeper@", "migrated@"), "set 2 3", repr((NAME, AUTHOR[:4])))
        run_previous(PREVIOUS, *script)
        assert (await read_state(plain)).revision == 2
        await plain.close()
    finally:
        database.drop()
        database.server.execute("DROP ROLE migrated")
