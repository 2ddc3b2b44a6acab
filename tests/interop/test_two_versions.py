"""Two versions of the code on one database: the one before this, from git, and this one."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest

from doorkeeper.acl.model import ANY_BINDING, AclBinding, exactly
from doorkeeper.client.bindings import (
    bindings_of,
    creation_request,
    deletion_request,
    description_request,
)
from doorkeeper.client.config import ClientConfig, address_of
from doorkeeper.client.connection import ClientConnection
from doorkeeper.client.errors import LoginRefused
from doorkeeper.client.logins import Password
from doorkeeper_wire.messages import (
    alter_user_scram_credentials,
    create_topics,
    delete_topics,
    describe_configs,
    describe_delegation_token,
    incremental_alter_configs,
    metadata,
)
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from doorkeeper_wire.messages.delete_acls import DeleteAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.acl import DESCRIBE, allow, topic
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_broker import free_port
from testkit.previous import COMMIT, FEWER_KINDS, environment

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
    """A node of the version before, 0, and one of this version, 1."""

    def __init__(self, database: Database, before: str = COMMIT) -> None:
        self.database = database
        self.ports = (free_port(), free_port())
        own = [self._properties(number) for number in (0, 1)]
        self.servers = (
            DoorkeeperServer(own[0], ports=self.ports[:1], environment=environment(before)),
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
        """Start the older one, which creates the tables; migrate; start the newer one."""
        self.servers[0].start()
        done = self.migrate()
        assert done.returncode == 0, done.stderr
        self.servers[1].start()

    def migrate(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run ``doorkeeper store migrate`` of this version."""
        command = [sys.executable, "-m", "doorkeeper", "store", "migrate"]
        return subprocess.run(
            [*command, "--store", self.database.url(), *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

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


@contextmanager
def running(postgres_server: Postgres, before: str = COMMIT) -> Iterator[TwoVersions]:
    """Run both over a database of their own."""
    database = postgres_server.create_database()
    both = TwoVersions(database, before)
    try:
        both.start()
        yield both
    finally:
        both.close()
    database.drop()


@pytest.fixture(scope="module")
def nodes(postgres_server: Postgres) -> Iterator[TwoVersions]:
    """Give two nodes, which no test stops: the tests come in any order."""
    with running(postgres_server) as both:
        yield both


DIRECTIONS = pytest.mark.parametrize(
    ("here", "there"), [(1, 0), (0, 1)], ids=["new to old", "old to new"]
)


async def becomes(read: Callable[[], Awaitable[object]], expected: object) -> None:
    """Wait until something is as it shall be, for as long as a change may take."""
    loop = asyncio.get_running_loop()
    until_s = loop.time() + WITHIN_S
    while (found := await read()) != expected and loop.time() < until_s:  # noqa: ASYNC110
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
async def test_a_revocation_counts_on_the_other_node(
    nodes: TwoVersions, here: int, there: int
) -> None:
    """Within a second after its answer; as the grant did before."""
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


async def test_a_tool_goes_on_with_the_older_node(nodes: TwoVersions) -> None:
    """A connection to it creates, lists and deletes ACLs, many at once too."""
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


@DIRECTIONS
async def test_topics_cross(nodes: TwoVersions, here: int, there: int) -> None:
    """One that is created is there on the other, and one that is deleted is not."""
    name = f"t-{here}"
    async with nodes.client(here) as admin, nodes.client(there) as observer:
        await create_topic(admin, name)
        await becomes(lambda: topic_code(observer, name), 0)

        wanted = delete_topics.DeleteTopicState(name=name)
        request = delete_topics.DeleteTopicsRequest(
            topics=(wanted,), topic_names=(name,), timeout_ms=9_000
        )
        answer = await admin.call(request, delete_topics.DeleteTopicsResponse)

        assert [each.error_code for each in answer.responses] == [0]
        await becomes(lambda: topic_code(observer, name), 3)


@DIRECTIONS
async def test_values_of_keys_cross(nodes: TwoVersions, here: int, there: int) -> None:
    """One of all nodes counts on both; deleted, the default does."""
    names = incremental_alter_configs
    async with nodes.client(here) as admin, nodes.client(there) as observer:
        before = await value_of(observer, "max.connections")
        for operation, value, expected in ((0, "777", "777"), (1, None, before)):
            config = names.AlterableConfig(
                name="max.connections", config_operation=operation, value=value
            )
            resource = names.AlterConfigsResource(
                resource_type=4, resource_name="", configs=(config,)
            )
            answer = await admin.call(
                names.IncrementalAlterConfigsRequest(resources=(resource,)),
                names.IncrementalAlterConfigsResponse,
            )
            assert [each.error_code for each in answer.responses] == [0], answer
            await becomes(lambda: value_of(observer, "max.connections"), expected)


async def value_of(connection: ClientConnection, name: str) -> str | None:
    """Return the value of a key for all nodes; None where there is none."""
    resource = describe_configs.DescribeConfigsResource(
        resource_type=4, resource_name="", configuration_keys=(name,)
    )
    request = describe_configs.DescribeConfigsRequest(resources=(resource,))
    (found,) = (await connection.call(request, describe_configs.DescribeConfigsResponse)).results
    return next((each.value for each in found.configs), None)


@DIRECTIONS
async def test_users_cross(nodes: TwoVersions, here: int, there: int) -> None:
    """A user that is created on one node logs in on the other, until it is deleted."""
    name, password, names = f"user-{here}", "s3cret", alter_user_scram_credentials
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), b"salt", 4096)
    login = Password("SCRAM-SHA-256", name, password)

    async def logs_in() -> bool:
        try:
            async with nodes.client(there, login=login):
                return True
        except LoginRefused:
            return False

    async with nodes.client(here) as admin:
        upsertion = names.ScramCredentialUpsertion(
            name=name, mechanism=1, iterations=4096, salt=b"salt", salted_password=salted
        )
        deletion = names.ScramCredentialDeletion(name=name, mechanism=1)
        for parts, expected in (
            ({"upsertions": (upsertion,)}, True),
            ({"deletions": (deletion,)}, False),
        ):
            request: Any = names.AlterUserScramCredentialsRequest(**parts)
            answer = await admin.call(request, names.AlterUserScramCredentialsResponse)
            assert [each.error_code for each in answer.results] == [0], answer
            await becomes(logs_in, expected)


@DIRECTIONS
async def test_tokens_cross(nodes: TwoVersions, here: int, there: int) -> None:
    """A delegation token of one node logs in on the other, which lists it."""
    async with nodes.client(here, "alice") as alice, nodes.client(there, "alice") as observer:
        request = CreateDelegationTokenRequest(max_lifetime_ms=-1)
        made = await alice.call(request, CreateDelegationTokenResponse)
        assert made.error_code == 0, made

        async def listed() -> bool:
            names = describe_delegation_token
            answer = await observer.call(
                names.DescribeDelegationTokenRequest(owners=None),
                names.DescribeDelegationTokenResponse,
            )
            return made.token_id in [each.token_id for each in answer.tokens]

        await becomes(listed, expected=True)
        hmac = base64.b64encode(made.hmac).decode()
        login = Password("SCRAM-SHA-256", made.token_id, hmac, by_token=True)
        async with nodes.client(there, login=login):
            pass


def test_no_node_had_to_read_everything_again(nodes: TwoVersions) -> None:
    """Both followed the log all the time; neither logged an error."""
    for server in nodes.servers:
        text = server.log.read_text()
        assert "the whole state was reloaded" not in text
        assert "the store is unavailable" not in text
        assert "Traceback" not in text


async def test_a_kind_that_the_older_does_not_have(postgres_server: Postgres) -> None:
    """Its node skips the rows and follows on: a revocation behind them counts within a second,
    a tool connected to it goes on, and the newer node keeps the rows."""
    with running(postgres_server, FEWER_KINDS) as nodes:
        async with (
            nodes.client(0) as old,
            nodes.client(1) as new,
            nodes.client(0, "alice") as alice,
        ):
            grant = allow("alice", DESCRIBE, topic("orders"))
            await create_topic(new, "orders")
            await create(new, grant)
            await becomes(lambda: topic_code(alice, "orders"), 0)

            await subscribe_to_metrics(new, "every-client", "1000")
            assert await delete(new, grant) == 1

            await becomes(lambda: topic_code(alice, "orders"), NOT_AUTHORIZED)
            other = allow("bob", DESCRIBE, topic("orders"))
            await create(old, other)
            await becomes(lambda: acls(new), [other])
            assert await acls(old) == [other]
        assert (
            nodes.database.execute(
                "SELECT count(*) FROM doorkeeper.item WHERE kind = 'resource_config'"
            )
            == "1"
        )
        test_no_node_had_to_read_everything_again(nodes)


async def subscribe_to_metrics(connection: ClientConnection, name: str, interval_ms: str) -> None:
    """Store a value of a kind that was added later."""
    names = incremental_alter_configs
    config = names.AlterableConfig(name="interval.ms", config_operation=0, value=interval_ms)
    resource = names.AlterConfigsResource(resource_type=16, resource_name=name, configs=(config,))
    request = names.IncrementalAlterConfigsRequest(resources=(resource,))
    answer = await connection.call(request, names.IncrementalAlterConfigsResponse)
    assert [each.error_code for each in answer.responses] == [0], answer


async def test_what_only_the_older_needs_goes_when_it_has_stopped(
    postgres_server: Postgres,
) -> None:
    """Not while it lives; afterwards the newer one goes on, and the older is refused."""
    with running(postgres_server) as nodes:
        await finish(nodes)


async def finish(nodes: TwoVersions) -> None:
    """Stop the older one, and end what only it needs."""
    refused = nodes.migrate("--finish")
    assert refused.returncode == 1
    assert "the nodes 0 are of an older version" in refused.stderr

    assert nodes.servers[0].stop() == 0
    done = nodes.migrate("--finish")

    assert done.returncode == 0, done.stderr
    async with nodes.client(1) as admin:
        binding = allow("carol", DESCRIBE, topic("t"))
        await create(admin, binding)
        assert binding in await acls(admin)
    with pytest.raises(RuntimeError, match="asks for a Doorkeeper of schema version 2"):
        nodes.servers[0].start()
