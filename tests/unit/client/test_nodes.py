"""Which nodes there are, and what is tried again."""

from __future__ import annotations

import asyncio

import pytest

from doorkeeper.client.config import Address, ClientConfig
from doorkeeper.client.errors import ClientError, ConnectionLost, TimedOut, Unreachable
from doorkeeper.client.nodes import Nodes, RetryNeeded
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from testkit.loop_clock import time_by_hand
from testkit.scripted_server import ScriptedServer

DESCRIBE = DescribeAclsRequest(resource_name_filter="t")
QUICK = {"retry_ms": 1, "retry_max_ms": 4, "timeout_ms": 10_000}


def nodes(bootstrap: str, **parts: int) -> Nodes:
    return Nodes(ClientConfig(bootstrap=bootstrap, **{**QUICK, **parts}))  # type: ignore[arg-type]


def said(text: str) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_message=text)


async def test_first_reachable_bootstrap_address_is_used() -> None:
    async with ScriptedServer() as server:
        found = nodes(f"127.0.0.1:1, {server.address}")
        cluster = await found.cluster()
        await found.close()

    assert (cluster.cluster_id, cluster.controller_id) == ("c", 1)
    assert cluster.nodes == {1: Address("127.0.0.1", server.port)}


async def test_changes_are_sent_to_the_controller() -> None:
    async with (
        ScriptedServer(DescribeAcls=lambda _: said("first")) as first,
        ScriptedServer(DescribeAcls=lambda _: said("second")) as second,
    ):
        first.scripts["Metadata"] = lambda _: first.metadata(
            first.port, second.port, controller_id=2
        )
        found = nodes(first.address)
        read = await found.call(DESCRIBE, DescribeAclsResponse)
        changed = await found.call(DESCRIBE, DescribeAclsResponse, controller=True)
        await found.close()

    assert (read.error_message, changed.error_message) == ("first", "second")
    assert (first.connections, second.connections) == (1, 1)


async def test_unreachable_node_is_skipped() -> None:
    async with ScriptedServer(DescribeAcls=lambda _: said("alive")) as server:
        server.scripts["Metadata"] = lambda _: server.metadata(1, server.port)
        found = nodes(server.address)
        answer = await found.call(DESCRIBE, DescribeAclsResponse)
        await found.close()

    assert answer.error_message == "alive"


async def test_known_nodes_are_asked_when_the_bootstrap_address_is_gone() -> None:
    """As by Java's clients: one address is enough to begin with."""
    async with ScriptedServer() as second:
        async with ScriptedServer() as first:
            first.scripts["Metadata"] = lambda _: first.metadata(first.port, second.port)
            found = nodes(first.address)
            await found.cluster()
        second.scripts["Metadata"] = lambda _: second.metadata(second.port)

        cluster = await found.cluster()
        await found.close()

    assert cluster.nodes == {1: Address("127.0.0.1", second.port)}


async def test_lost_connection_is_reopened() -> None:
    told: list[ClientError] = []
    lost = iter((True, True, False))
    async with ScriptedServer(
        DescribeAcls=lambda _: None if next(lost) else said("at last")
    ) as server:
        found = Nodes(ClientConfig(bootstrap=server.address, retry_ms=1), told.append)
        answer = await found.retry(lambda: found.call(DESCRIBE, DescribeAclsResponse))
        await found.close()

    assert answer.error_message == "at last"
    assert [type(each) for each in told] == [ConnectionLost, ConnectionLost]
    assert server.connections == 3


async def test_timeouts_are_retried_until_the_deadline() -> None:
    silent: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    with time_by_hand() as clock:
        over_s = clock.now_s + 0.46

        def is_silent(_request: object) -> asyncio.Future[object]:
            clock.now_s = min(clock.now_s + 0.1, over_s)
            return silent

        async with ScriptedServer(DescribeAcls=is_silent) as server:  # type: ignore[arg-type]
            found = nodes(server.address, request_timeout_ms=100, timeout_ms=450, retry_ms=0)
            with pytest.raises(TimedOut, match="timed out after 450 ms"):
                await found.retry(lambda: found.call(DESCRIBE, DescribeAclsResponse))
            await found.close()
            silent.cancel()

    assert len(server.asked) == server.connections == 5


async def test_unreachable_cluster_fails_immediately_by_default() -> None:
    tries: list[ClientError] = []
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1: Connection refused"):
        await nodes("127.0.0.1:1").cluster()
    patient = ClientConfig(bootstrap="127.0.0.1:1", patient=True, retry_ms=1, timeout_ms=60)
    with time_by_hand(step_s=0.001), pytest.raises((Unreachable, TimedOut)):
        await Nodes(patient, tries.append).cluster()

    assert len(tries) > 1


async def test_retry_pauses_grow_to_a_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    async def once() -> None:
        raise RetryNeeded("not yet")

    found = Nodes(
        ClientConfig(
            bootstrap="unused:1", patient=True, retry_ms=10, retry_max_ms=40, timeout_ms=200
        )
    )
    with time_by_hand() as clock:
        monkeypatch.setattr(asyncio, "sleep", clock.sleep)
        with pytest.raises(RetryNeeded, match="not yet"):
            await found.retry(once)

    assert clock.pauses_s == [0.01, 0.02, 0.04, 0.04, 0.04, 0.04]


async def test_missing_controller_is_awaited() -> None:
    leaders = iter((-1, -1, 1))
    async with ScriptedServer(DescribeAcls=lambda _: said("led")) as server:
        server.scripts["Metadata"] = lambda _: server.metadata(
            server.port, controller_id=next(leaders)
        )
        found = nodes(server.address)
        answer = await found.retry(
            lambda: found.call(DESCRIBE, DescribeAclsResponse, controller=True)
        )
        await found.close()

    assert answer.error_message == "led"


def test_address_is_required() -> None:
    with pytest.raises(ValueError, match="no address given"):
        nodes(" , ")
