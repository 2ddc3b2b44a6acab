"""Two versions of the code on one database: an earlier one, from git, and this one."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import pytest

from doorkeeper.acls.model import ANY_BINDING, AclBinding, exactly
from doorkeeper.client.bindings import (
    bindings_of,
    creation_request,
    deletion_request,
    description_request,
)
from doorkeeper.client.config import ClientConfig, address_of
from doorkeeper.client.connection import ClientConnection
from doorkeeper.client.logins import Password
from doorkeeper_wire.messages import (
    create_topics,
    metadata,
)
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.delete_acls import DeleteAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.acl import DESCRIBE, allow, topic
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_broker import free_port
from testkit.previous import environment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from testkit.postgres import Database, Postgres

pytestmark = pytest.mark.interop

PASSWORDS: Final = {name: f"{name}-secret" for name in ("admin", "alice")}
PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
WITHIN_S: Final = 1.0
"""How long a change of one node may take to count on the other."""

NOT_AUTHORIZED: Final = 29


class TwoVersions:
    """A node of the earlier version, 0, and one of this version, 1."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.ports = (free_port(), free_port())
        own = [self._properties(number) for number in (0, 1)]
        self.servers = (
            DoorkeeperServer(own[0], ports=self.ports[:1], environment=environment()),
            DoorkeeperServer(own[1], ports=self.ports[1:]),
        )

    def _properties(self, number: int) -> dict[str, str]:
        users = " ".join(f'user_{name}="{word}"' for name, word in PASSWORDS.items())
        prefix = "listener.name.sasl_plaintext"
        return {
            "node.id": str(number),
            "listeners": f"SASL_PLAINTEXT://127.0.0.1:{self.ports[number]}",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            f"{prefix}.plain.sasl.jaas.config": f"{PLAIN} required {users};",
            f"{prefix}.scram-sha-256.sasl.jaas.config": f"{SCRAM} required;",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:admin",
            "delegation.token.secret.key": "the key of tokens",
            "doorkeeper.store": self.database.url(),
        }

    def start(self) -> None:
        """Start the earlier one, which creates the tables, then this one."""
        for server in self.servers:
            server.start()

    def close(self) -> None:
        """End both."""
        for server in self.servers:
            server.close()

    @asynccontextmanager
    async def client(
        self, node: int, user: str = "admin", login: Password | None = None
    ) -> AsyncIterator[ClientConnection]:
        """Connect to one of the nodes as a user."""
        address = f"127.0.0.1:{self.ports[node]}"
        login = login or Password("PLAIN", user, PASSWORDS[user])
        config = ClientConfig(bootstrap=address, login=login)
        connection = await ClientConnection.connect(address_of(address), config)
        try:
            yield connection
        finally:
            await connection.close()


@pytest.fixture(scope="module")
def nodes(postgres_server: Postgres) -> Iterator[TwoVersions]:
    """Give two nodes, which no test stops: the tests come in any order."""
    database = postgres_server.create_database()
    both = TwoVersions(database)
    try:
        both.start()
        yield both
    finally:
        both.close()
    database.drop()


DIRECTIONS = pytest.mark.parametrize(
    ("here", "there"), [(1, 0), (0, 1)], ids=["new to old", "old to new"]
)


async def becomes(read: Callable[[], Awaitable[object]], expected: object) -> None:
    """Wait until something is as it shall be, for as long as a change may take."""
    loop = asyncio.get_running_loop()
    until_s = loop.time() + WITHIN_S
    while (found := await read()) != expected and loop.time() < until_s:
        await asyncio.sleep(0.01)
    assert found == expected


async def create(connection: ClientConnection, *bindings: AclBinding) -> None:
    answer = await connection.call(creation_request(bindings), CreateAclsResponse)
    assert {each.error_code for each in answer.results} == {0}


async def delete(connection: ClientConnection, binding: AclBinding) -> int:
    answer = await connection.call(deletion_request([exactly(binding)]), DeleteAclsResponse)
    (result,) = answer.filter_results
    assert result.error_code == 0
    return len(result.matching_acls)


async def acls(connection: ClientConnection) -> list[AclBinding]:
    return bindings_of(
        await connection.call(description_request(ANY_BINDING), DescribeAclsResponse)
    )


async def topic_code(connection: ClientConnection, name: str) -> int:
    """Return what Metadata says of a topic: 0, or why it is not shown."""
    wanted = (metadata.MetadataRequestTopic(name=name),)
    request = metadata.MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
    (found,) = (await connection.call(request, metadata.MetadataResponse)).topics
    code: int = found.error_code
    return code


async def create_topic(connection: ClientConnection, name: str) -> None:
    wanted = create_topics.CreatableTopic(name=name, num_partitions=3, replication_factor=1)
    request = create_topics.CreateTopicsRequest(topics=(wanted,), timeout_ms=9_000)
    (found,) = (await connection.call(request, create_topics.CreateTopicsResponse)).topics
    assert found.error_code == 0, found


@DIRECTIONS
async def test_revocation_applies_to_the_other_node(
    nodes: TwoVersions, here: int, there: int
) -> None:
    async with (
        nodes.client(here) as admin,
        nodes.client(there) as observer,
        nodes.client(there, "alice") as alice,
    ):
        name = f"orders-{here}"
        grant = allow("alice", DESCRIBE, topic(name))
        await create_topic(admin, name)
        assert await topic_code(alice, name) == NOT_AUTHORIZED
        await create(admin, grant)
        await becomes(lambda: topic_code(alice, name), 0)

        assert await delete(admin, grant) == 1

        await becomes(lambda: topic_code(alice, name), NOT_AUTHORIZED)
        assert grant not in await acls(observer)


async def test_tool_works_with_the_older_node(nodes: TwoVersions) -> None:
    many = [allow("bob", DESCRIBE, topic(f"many-{number}")) for number in range(500)]
    async with nodes.client(0) as old, nodes.client(1) as new:
        await create(old, *many)
        assert set(many) <= set(await acls(old))
        await becomes(lambda: count(new), await count(old))
        assert await delete(new, many[0]) == 1
        await becomes(lambda: delete(old, many[0]), 0)
        for each in many[1:]:
            assert await delete(old, each) == 1
        await becomes(lambda: count(new), 0)


async def count(connection: ClientConnection) -> int:
    return len([each for each in await acls(connection) if each.entry.principal == "User:bob"])


def test_no_node_reloads_the_state(nodes: TwoVersions) -> None:
    for server in nodes.servers:
        text = server.log.read_text()
        assert "the complete state was reloaded" not in text
        assert "the store is unavailable" not in text
        assert "Traceback" not in text
