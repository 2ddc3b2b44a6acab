"""What a connection does while an authorizer asks elsewhere for its decision."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any

import pytest
from msgspec.structs import replace

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.node import DelayedResponse
from doorkeeper.server.authorizer.contract import DecisionPending
from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.protocol.responses import undecided
from doorkeeper_wire.api_keys import ApiKey
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit import edge_apis
from testkit.channels import World
from testkit.edge import describe, until

DESCRIBE_ACLS = int(ApiKey.DESCRIBE_ACLS)


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Give the awaitables that DescribeAcls raises for the name "?", one each time; then none."""
    known: list[Any] = []
    api = edge_apis.APIS[DESCRIBE_ACLS]

    def handle(request: Any, context: Any, node: Any) -> Any:
        if request.resource_name_filter == "?" and known:
            raise DecisionPending(known.pop(0))
        if request.resource_name_filter == "later":
            return DelayedResponse(delayed())
        return api.handle(request, context, node)

    async def delayed() -> Any:
        raise DecisionPending(asyncio.get_running_loop().create_future())

    monkeypatch.setitem(edge_apis.APIS, DESCRIBE_ACLS, replace(api, handle=handle))
    return known


def codes(transport: Any) -> list[int]:
    return [
        int(DescribeAclsResponse.decode(frame, 5, 3)[0].error_code) for frame in transport.answers()
    ]


async def test_pending_decision_blocks_only_its_connection(decisions: list[Any]) -> None:
    first = asyncio.get_running_loop().create_future()
    second: concurrent.futures.Future[None] = concurrent.futures.Future()
    decisions += [first, second]
    world = World()
    (channel, transport), (other, others) = world.connect(), world.connect()

    channel.data_received(describe("a") + describe("?") + describe("b"))
    other.data_received(describe("c"))
    assert (transport.names(), others.names()) == (["a"], ["c"])
    assert not transport.is_reading()
    first.set_result(None)
    await until(lambda: not decisions)
    assert transport.names() == ["a"]
    second.set_result(None)
    await until(lambda: len(transport.answers()) == 3)

    assert transport.names() == ["a", "?", "b"]
    await until(transport.is_reading)
    assert world.log.lines == []


async def fails(error: BaseException) -> None:
    raise error


async def never() -> None:
    await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize(
    ("known", "code", "cause"),
    [
        (lambda: fails(OSError("no answer")), ErrorCode.NOT_CONTROLLER, "no answer"),
        (lambda: fails(asyncio.CancelledError()), ErrorCode.NOT_CONTROLLER, "cancelled"),
        (never, ErrorCode.NOT_CONTROLLER, "took too long"),
        (lambda: None, ErrorCode.NOT_CONTROLLER, "expected: an awaitable"),
        (lambda: fails(ApiError(ErrorCode.POLICY_VIOLATION)), ErrorCode.POLICY_VIOLATION, ""),
    ],
)
async def test_undecided_request_is_retriable(
    decisions: list[Any], known: Any, code: ErrorCode, cause: str
) -> None:
    decisions.append(known())
    world = World(Limits(decision_timeout_ms=20))
    channel, transport = world.connect()

    channel.data_received(describe("?") + describe("b"))
    until_all = until(lambda: len(transport.answers()) == 2)
    await asyncio.sleep(0)
    world.clock.now_s += 1
    await until_all

    assert codes(transport) == [code, 0]
    causes = [str(line.fields["cause"]) for line in world.log.lines]
    assert [cause in each for each in causes] == [True] * bool(cause)


async def test_decision_after_a_wait_fails_retriably(decisions: list[Any]) -> None:
    assert decisions == []
    channel, transport = World().connect()

    channel.data_received(describe("later"))
    await until(lambda: bool(transport.writes))

    assert codes(transport) == [ErrorCode.NOT_CONTROLLER]


async def test_disconnect_does_not_cancel_the_decision(decisions: list[Any]) -> None:
    known = asyncio.get_running_loop().create_future()
    decisions.append(known)
    world = World()
    channel, transport = world.connect()
    channel.data_received(describe("?"))
    await asyncio.sleep(0)

    channel.connection_lost(None)
    await asyncio.sleep(0)
    assert not known.cancelled()
    known.set_exception(RuntimeError("expected: an operation that a request can have"))
    await asyncio.sleep(0)

    assert transport.writes == []
    assert world.lost == [channel]


@pytest.mark.parametrize(
    ("code", "keys"),
    [
        (ErrorCode.LEADER_NOT_AVAILABLE, [ApiKey.METADATA]),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, [ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS]),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [ApiKey.INIT_PRODUCER_ID]),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, [ApiKey.FIND_COORDINATOR, ApiKey.LIST_GROUPS]),
        (
            ErrorCode.NOT_COORDINATOR,
            [
                ApiKey.OFFSET_COMMIT,
                ApiKey.OFFSET_FETCH,
                ApiKey.JOIN_GROUP,
                ApiKey.HEARTBEAT,
                ApiKey.DESCRIBE_GROUPS,
                ApiKey.ADD_PARTITIONS_TO_TXN,
                ApiKey.CONSUMER_GROUP_HEARTBEAT,
            ],
        ),
        (
            ErrorCode.NOT_CONTROLLER,
            [
                ApiKey.CREATE_TOPICS,
                ApiKey.CREATE_ACLS,
                ApiKey.DESCRIBE_CONFIGS,
                ApiKey.API_VERSIONS,
            ],
        ),
    ],
)
def test_error_code_is_retriable_for_each_api(code: ErrorCode, keys: list[ApiKey]) -> None:
    assert {undecided(key).code for key in keys} == {code}
