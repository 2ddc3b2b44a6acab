"""What an administrator's client asks, and what it makes of the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acls.entities.model import Quota
from doorkeeper.acls.entities.plan import EntityChange
from doorkeeper.acls.model import (
    ANY_BINDING,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
    exactly,
)
from doorkeeper.base.errors import ErrorCode
from doorkeeper.client.admin import AdminClient, Created, Deleted, Removed
from doorkeeper.client.config import ClientConfig
from doorkeeper.client.errors import ApiFailure, ClientError, Unsendable
from doorkeeper_wire.messages.alter_client_quotas import AlterClientQuotasResponse
from doorkeeper_wire.messages.create_acls import AclCreationResult, CreateAclsResponse
from doorkeeper_wire.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
)
from doorkeeper_wire.messages.describe_acls import (
    DescribeAclsResponse,
)
from testkit.acl import READ, WRITE, allow, deny, group, topic, wanted
from testkit.scripted_server import ScriptedServer

if TYPE_CHECKING:
    from collections.abc import Iterator

BINDINGS = [allow("alice", READ, topic("t")), deny("eve", WRITE, group("g"), "10.0.0.1")]


def admin(server: ScriptedServer, **parts: int) -> AdminClient:
    return AdminClient(
        ClientConfig(bootstrap=server.address, retry_ms=1, **parts)  # type: ignore[arg-type]
    )


def created(*codes: int) -> CreateAclsResponse:
    return CreateAclsResponse(results=tuple(AclCreationResult(error_code=each) for each in codes))


async def test_error_for_the_whole_request_is_raised() -> None:
    """With Kafka's code."""
    refused = DescribeAclsResponse(error_code=31, error_message="no")
    async with ScriptedServer(DescribeAcls=lambda _: refused) as server, admin(server) as client:
        with pytest.raises(ApiFailure, match="CLUSTER_AUTHORIZATION_FAILED: no") as raised:
            await client.describe_acls()

    assert raised.value.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


async def test_each_creation_has_its_result() -> None:
    """In the order of the bindings, in one request."""
    async with (
        ScriptedServer(CreateAcls=lambda _: created(0, 42)) as server,
        admin(server) as client,
    ):
        first, second = await client.create_acls(BINDINGS)

    (asked,) = server.asked
    assert [each.principal for each in asked.creations] == ["User:alice", "User:eve"]
    assert (asked.creations[1].permission_type, asked.creations[1].host) == (2, "10.0.0.1")
    assert first == Created()
    assert second.error is not None
    assert second.error.code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("binding", "text"),
    [
        (
            allow("a", READ, ResourcePattern(ResourceType.ANY, "t", PatternType.LITERAL)),
            "Resource type is ANY",
        ),
        (
            AclBinding(topic("t"), AccessControlEntry("User:a", "*", READ, AclPermissionType.ANY)),
            "Permission type is ANY",
        ),
    ],
)
async def test_filter_only_values_are_not_sent(binding: AclBinding, text: str) -> None:
    """As by Kafka's client, with its text; the others are."""
    async with (
        ScriptedServer(CreateAcls=lambda _: created(0)) as server,
        admin(server) as client,
    ):
        first, second = await client.create_acls([binding, BINDINGS[0]])

    assert str(first.error) == f"Invalid ACL creation: {text}"
    assert second == Created()
    assert len(server.asked[0].creations) == 1


async def test_retriable_items_are_sent_again() -> None:
    """41 and 7: only they, after asking who the controller is now."""
    answers: Iterator[Any] = iter((created(41, 0), created(7), created(0)))
    async with (
        ScriptedServer(CreateAcls=lambda _: next(answers)) as server,
        admin(server) as client,
    ):
        results = await client.create_acls(BINDINGS)

    assert results == [Created(), Created()]
    assert [len(each.creations) for each in server.asked] == [2, 1, 1]
    assert [each.api_key for each in server.headers].count(3) == 3


async def test_deletions_are_reported_by_filter() -> None:
    gone = DeleteAclsMatchingAcl(
        resource_type=2,
        resource_name="t",
        pattern_type=3,
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    )
    answer = DeleteAclsResponse(
        filter_results=(
            DeleteAclsFilterResult(matching_acls=(gone,), error_message=None),
            DeleteAclsFilterResult(error_code=54, error_message="none"),
        )
    )
    async with ScriptedServer(DeleteAcls=lambda _: answer) as server, admin(server) as client:
        first, second = await client.delete_acls([ANY_BINDING, ANY_BINDING])

    assert first == Deleted(None, (Removed(BINDINGS[0]),))
    assert second.error is not None
    assert (second.error.code, second.removed) == (ErrorCode.SECURITY_DISABLED, ())


async def test_unknown_elements_are_rejected() -> None:
    unknown = wanted(operation=AclOperation.UNKNOWN)
    async with ScriptedServer() as server, admin(server) as client:
        with pytest.raises(ValueError, match="must not contain UNKNOWN elements"):
            await client.describe_acls(unknown)
        with pytest.raises(ValueError, match="must not contain UNKNOWN elements"):
            await client.delete_acls([unknown])

    assert server.connections == 0


async def test_mismatched_results_are_an_error() -> None:
    async with (
        ScriptedServer(CreateAcls=lambda _: created(0)) as server,
        admin(server) as client,
    ):
        with pytest.raises(ClientError, match="received 1 results for 2 items"):
            await client.create_acls(BINDINGS)


LONG = allow("alice", READ, topic("y" * 40_000))
TOO_LONG = "Resource name takes 40000 bytes; at most 32767"


async def test_unencodable_item_does_not_affect_others() -> None:
    deleted = DeleteAclsResponse(filter_results=(DeleteAclsFilterResult(),))
    async with (
        ScriptedServer(CreateAcls=lambda _: created(0), DeleteAcls=lambda _: deleted) as server,
        admin(server) as client,
    ):
        made = await client.create_acls([LONG, BINDINGS[0]])
        gone = await client.delete_acls([exactly(LONG), exactly(BINDINGS[0])])
        none = await client.delete_acls([exactly(LONG)])

    assert [str(each.error) for each in made] == [TOO_LONG, "None"]
    assert [str(each.error) for each in gone] == [TOO_LONG, "None"]
    assert [str(each.error) for each in none] == [TOO_LONG]
    assert len(server.asked) == 2


async def test_unencodable_filter_is_a_client_error() -> None:
    retried: list[ClientError] = []
    async with ScriptedServer(DescribeAcls=lambda _: DescribeAclsResponse()) as server:
        config = ClientConfig(bootstrap=server.address)
        async with AdminClient(config, on_retry=retried.append) as client:
            with pytest.raises(Unsendable, match="takes 40000 bytes; at most 32767"):
                await client.describe_acls(exactly(LONG))
            assert await client.describe_acls() == []

    assert retried == []
    assert server.connections == 1


async def test_brokers_before_the_first_that_is_reached_are_silent() -> None:
    """Of four brokers the first is down, so that the second is asked for any."""

    def named(name: str) -> DescribeAclsResponse:
        return DescribeAclsResponse(error_code=31, error_message=name)

    async def ask(node_id: int | None) -> str:
        with pytest.raises(ApiFailure) as refused:
            await client.describe_acls(node_id=node_id)
        return str(refused.value.message)

    async with (
        ScriptedServer(DescribeAcls=lambda _: named("b")) as second,
        ScriptedServer(DescribeAcls=lambda _: named("c")) as third,
        ScriptedServer(DescribeAcls=lambda _: named("d")) as fourth,
        admin(second) as client,
    ):
        ports = (1, second.port, third.port, fourth.port)
        second.scripts["Metadata"] = lambda _: second.metadata(*ports)

        answers, silent = await client.ask_few(ask)

    assert (answers, silent) == (["b", "c", "d"], 1)


async def test_change_without_an_answer_is_not_taken_for_made() -> None:
    quota = Quota((("user", "a"),), "producer_byte_rate", 1.0)
    answer = AlterClientQuotasResponse(entries=())
    async with (
        ScriptedServer(AlterClientQuotas=lambda _: answer) as server,
        admin(server) as client,
    ):
        with pytest.raises(ClientError, match="the responses lack 1 of 1 changes"):
            await client.alter_entities([EntityChange(None, quota)], {})
