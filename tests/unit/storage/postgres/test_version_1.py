"""A database of schema version 1 is migrated, and its views are removed at the end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final
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
from doorkeeper.storage.postgres.schema import VERSION, meta, schema_state
from testkit.previous import run_previous
from testkit.shared_stores import read_state, write
from testkit.stores import adding, removing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from testkit.postgres import Database

pytestmark = pytest.mark.interop

NAME: Final = 'n\0\ufdd0"\\u0000\\\\\u00e9'
"""A name with the characters that the two versions write differently."""

AUTHOR: Final = Author("User:admin", "192.0.2.7", "SASL", "c")

CREATE: Final = f"""
import asyncio, sys
from uuid import uuid4
import asyncpg
from doorkeeper.acl.model import *
from doorkeeper.acl.model import AccessControlEntry, AclBinding, ResourcePattern
from doorkeeper.authn.credentials import ScramCredential
from doorkeeper.storage.contract import *
from doorkeeper.storage.contract import Author, Change, ConfigKey, CredentialKey
from doorkeeper.storage.postgres import migrating, rows

NAME = {NAME!r}
entry = AccessControlEntry("User:" + NAME, "*", AclOperation(3), AclPermissionType(3))
pattern = ResourcePattern(ResourceType(2), NAME, PatternType(3))
user = CredentialKey(NAME, "SCRAM-SHA-512")
token = StoredToken("t", "User:" + NAME, "User:b", (NAME,), 1, 2, 3, b"\\0\\xff")
author = Author(*{tuple(AUTHOR[:4])!r})
all_set = Change(
    author=author,
    bindings_added=(StoredBinding("1", AclBinding(pattern, entry)),),
    topics_added=(StoredTopic("orders", bytes(range(16)), 3, 1, {{"a": NAME, "b": ""}}),),
    configs_set=((ConfigKey("", NAME), NAME), (ConfigKey("1", "k"), "v")),
    credentials_set=((user, ScramCredential(b"salt\\0", b"s", b"\\xff", 4096)),),
    tokens_set=(token,),
)
deleted = Change(author=author, topics_removed=("orders",), configs_deleted=(ConfigKey("1", "k"),))

async def main():
    connection = await asyncpg.connect(sys.argv[1])
    await migrating.prepare(connection, cluster_id=lambda: "A" * 22, salt_key=lambda: b"salt" * 8)
    async with connection.transaction():
        first = await rows.take_pen(connection) + 1
        await rows.write(connection, [(1, all_set), (2, deleted)], node_id=1, batch=uuid4())

asyncio.run(main())
"""
"""What code of version 1 does: it creates a store and writes two revisions."""

TOPIC_ROW: Final = StoredTopic("orders", bytes(range(16)), 3, 1, {"a": NAME, "b": ""})
KEPT: Final = {
    ACL: StoredBinding(
        "1",
        AclBinding(
            ResourcePattern(ResourceType.TOPIC, NAME, PatternType.LITERAL),
            AccessControlEntry("User:" + NAME, "*", AclOperation.READ, AclPermissionType.ALLOW),
        ),
    ),
    CONFIG: StoredConfig("", NAME, NAME),
    CREDENTIAL: StoredCredential(NAME, "SCRAM-SHA-512", b"salt\0", b"s", b"\xff", 4096),
    TOKEN: StoredToken("t", "User:" + NAME, "User:b", (NAME,), 1, 2, 3, b"\0\xff"),
}


@pytest.fixture
async def connection(database: Database) -> AsyncIterator[asyncpg.Connection]:
    """Return a connection to a store that code of version 1 has created and filled."""
    run_previous(CREATE, database.url())
    opened = await asyncpg.connect(database.url())
    yield opened
    await opened.close()


async def test_a_database_of_version_1_is_migrated(connection: asyncpg.Connection) -> None:
    """State, log and authors are what they were; the identity gets a store id."""
    plan = await plan_migration(connection)

    assert await migrate(connection, os.urandom) == plan

    state = await read_state(connection)
    found = {name: list(some) for name, some in state.rows.items() if some}
    assert (state.revision, found) == (2, {kind.name: [row] for kind, row in KEPT.items()})
    first, second = await rows.read_log(connection, 0, 100)
    assert first.author == AUTHOR
    assert first.change[ACL].set == (KEPT[ACL],)
    assert second.change == {
        **edit(TOPIC, deleted=[TOPIC_ROW]),
        **edit(CONFIG, deleted=[StoredConfig("1", "k", "v")]),
    }
    values = await meta(connection)
    assert (values["cluster_id"], len(values["store_id"])) == ("A" * 22, 22)


async def test_the_migration_ends_when_no_node_of_version_1_lives(
    connection: asyncpg.Connection,
) -> None:
    """Then the views for version 1 are gone."""
    await migrate(connection, os.urandom)
    await write(connection, adding(2))
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
    assert await schema_state(connection) == (VERSION, 2, 2)
    await write(connection, removing(2))
    assert len((await read_state(connection)).rows["acl"]) == 1
