"""An authorizer whose updates take seconds, over real sockets: nobody else notices.

The seconds are those of a clock that the test moves where they are measured, and of real futures
that the test completes: what is claimed of minutes holds in milliseconds.
"""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.api.node import ACL_UPDATE
from doorkeeper.authorizer import AclCreateResult, ApiError, ErrorCode
from doorkeeper.connection.connection import Connection
from doorkeeper.connection.exchange import PendingUpdate
from doorkeeper.limits import Limits
from doorkeeper.metrics import table
from doorkeeper.metrics.requests import RequestMeter
from doorkeeper.metrics.series import Meters
from doorkeeper.net.channel import Channel
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.edge import (
    LOOP_KINDS,
    Client,
    Clock,
    Edge,
    HandAuthorizer,
    answer,
    create,
    describe,
    edge,
    run,
    until,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.authorizer import AclBinding

pytestmark = pytest.mark.parametrize("kind", LOOP_KINDS)

OK = AclCreateResult()
CODES = [code for code in ErrorCode if code is not ErrorCode.NONE]
CLIENTS = 50
ITEMS_EACH = 4


class Slow:
    """An authorizer that completes what it is told to, and what tells of the server."""

    def __init__(self) -> None:
        self.meters, self.clock = Meters(), Clock()
        self.futures: dict[str, asyncio.Future[AclCreateResult]] = {}

    def created(self, bindings: Sequence[AclBinding]) -> Sequence[asyncio.Future[AclCreateResult]]:
        made = {each.pattern.name: asyncio.get_running_loop().create_future() for each in bindings}
        self.futures.update(made)
        return list(made.values())

    def complete(self, name: str, result: AclCreateResult = OK) -> None:
        future = self.futures.pop(name)
        if not future.done():
            future.set_result(result)

    def complete_all(self) -> None:
        for name in reversed(list(self.futures)):
            self.complete(name)

    def value(self, metric: table.Metric, *labels: str) -> float:
        return self.meters.counter(metric, *labels).value


def served(
    kind: str,
    scenario: Callable[[Edge, Slow], Coroutine[Any, Any, None]],
    limits: Limits | None = None,
) -> Slow:
    slow = Slow()

    async def main() -> None:
        async with edge(
            authorizer=HandAuthorizer(slow.created),
            limits=limits,
            clock=slow.clock,
            requests=RequestMeter(slow.meters),
        ) as running:
            await scenario(running, slow)
            slow.complete_all()
            await until(lambda: not running.server.updates_in_flight)

    run(kind, main())
    return slow


def names_of(number: int) -> list[str]:
    return [f"{number}-{item}" for item in range(ITEMS_EACH)]


def code_of(number: int, item: int) -> ErrorCode:
    """Return an error by which an item of a client is known among its neighbours."""
    return CODES[(number * 7 + item) % len(CODES)]


async def waiting_clients(running: Edge, slow: Slow, count: int = CLIENTS) -> list[Client]:
    """Return clients that all wait for an update of some items, which the authorizer has."""
    clients = [await running.client() for _ in range(count)]
    for number, client in enumerate(clients):
        await client.send(create(names_of(number), number))
    await until(lambda: len(slow.futures) == count * ITEMS_EACH)
    assert running.server.updates_in_flight == count
    return clients


def test_no_other_request_is_held(kind: str) -> None:
    """While 50 updates wait for ever, 200 requests of others are answered, also new clients'."""

    async def scenario(running: Edge, slow: Slow) -> None:
        clients = await waiting_clients(running, slow)
        other = await running.client()

        for number in range(200):
            found = await other.call(describe(f"n{number}"), DescribeAclsResponse, 3)
            assert found.error_message == f"n{number}"
        newcomer = await running.client()
        await newcomer.call(describe("new"), DescribeAclsResponse, 3)

        assert running.server.updates_in_flight == CLIENTS
        slow.complete_all()
        for client in clients:
            await client.frame()

    slow = served(kind, scenario)

    assert slow.value(table.REQUESTS, "DescribeAcls", "none") == 201
    assert slow.value(table.REQUESTS, "CreateAcls", "none") == CLIENTS


def test_results_stay_in_order(kind: str) -> None:
    """Items completed backwards, of updates completed backwards, are answered in their order."""

    async def scenario(running: Edge, slow: Slow) -> None:
        clients = await waiting_clients(running, slow)
        for number in reversed(range(CLIENTS)):
            for item in reversed(range(ITEMS_EACH)):
                error = ApiError(code_of(number, item))
                slow.complete(f"{number}-{item}", AclCreateResult(error))
            await asyncio.sleep(0)
        for number, client in enumerate(clients):
            correlation_id, body = answer(await client.frame(), CreateAclsResponse, 3)

            assert correlation_id == number
            expected = [code_of(number, item) for item in range(ITEMS_EACH)]
            assert [each.error_code for each in body.results] == expected

    served(kind, scenario)


def test_requests_behind_an_update_keep_their_order(kind: str) -> None:
    """On one connection update, question, update, question are answered in just that order."""

    async def scenario(running: Edge, slow: Slow) -> None:
        client = await running.client()
        await client.send(create(["a"], 1) + describe("x", 2) + create(["b"], 3) + describe("y", 4))
        await until(lambda: "a" in slow.futures)
        assert "b" not in slow.futures
        slow.complete("a")
        await until(lambda: "b" in slow.futures)
        slow.complete("b")

        found = [int.from_bytes((await client.frame())[:4]) for _ in range(4)]
        assert found == [1, 2, 3, 4]

    served(kind, scenario)


def test_the_bound_of_the_purgatory_holds(kind: str) -> None:
    """What would exceed it is refused at once, counted, and fits again when there is room."""
    most = 10 * ITEMS_EACH

    async def scenario(running: Edge, slow: Slow) -> None:
        clients = await waiting_clients(running, slow, 10)
        late = await running.client()

        refused = await late.call(create(["late"]), CreateAclsResponse, 3)
        assert [each.error_code for each in refused.results] == [
            ErrorCode.THROTTLING_QUOTA_EXCEEDED
        ]
        assert running.server.waiting()[1][ACL_UPDATE] == most
        assert "late" not in slow.futures
        for item in names_of(0):
            slow.complete(item)
        await clients[0].frame()
        await late.send(create(["late"]))
        await until(lambda: "late" in slow.futures)

    slow = served(kind, scenario, Limits(updates_waiting_max=most))

    assert slow.value(table.UPDATES_REFUSED) == 1
    assert slow.value(table.REQUESTS, "CreateAcls", "THROTTLING_QUOTA_EXCEEDED") == 1


def test_clients_that_disconnect_leak_nothing(kind: str) -> None:
    """After 50 clients left in mid-update there are as many objects as before; none is held.

    As with a broker, which mutes a connection that waits, their end is seen when the wait is over.
    """
    kinds = (Channel, Connection, PendingUpdate)

    def alive() -> list[int]:
        gc.collect()
        objects = gc.get_objects()
        return [sum(type(each) is wanted for each in objects) for wanted in kinds]

    async def scenario(running: Edge, slow: Slow) -> None:
        before = alive()
        clients = await waiting_clients(running, slow)
        assert alive() == [before[0] + CLIENTS, before[1] + CLIENTS, before[2] + CLIENTS]
        held = [weakref.ref(future) for future in slow.futures.values()]

        for client in clients:
            client.leave()
        running.clients.clear()
        clients.clear()
        assert running.server.waiting()[1][ACL_UPDATE] == CLIENTS * ITEMS_EACH
        slow.complete_all()
        await until(lambda: running.server.connections == 0)

        assert alive() == before
        assert [each for each in held if each() is not None] == []
        assert running.server.waiting() == ({**dict.fromkeys(running.server.waiting()[0], 0)},) * 2
        assert (running.server.bytes_incoming, running.server.bytes_outgoing) == (0, 0)

    slow = served(kind, scenario)

    assert slow.meters.histogram(table.REMOTE_SECONDS, "CreateAcls").count == CLIENTS
    assert slow.meters.histogram(table.REQUEST_SECONDS, "CreateAcls").count == CLIENTS


def test_the_times_are_exact(kind: str) -> None:
    """Two updates that take 3 and 7 seconds: their waits are remote, and nothing else is."""

    async def scenario(running: Edge, slow: Slow) -> None:
        clients = await waiting_clients(running, slow, 2)
        assert running.server.waiting() == (
            {**dict.fromkeys(running.server.waiting()[0], 0), ACL_UPDATE: 2},
            {**dict.fromkeys(running.server.waiting()[0], 0), ACL_UPDATE: 2 * ITEMS_EACH},
        )
        slow.clock.now_s += 3
        for item in names_of(0):
            slow.complete(item)
        await clients[0].frame()
        slow.clock.now_s += 4
        for item in names_of(1):
            slow.complete(item)
        await clients[1].frame()

    slow = served(kind, scenario)

    of = slow.meters.histogram
    assert of(table.LOCAL_SECONDS, "CreateAcls").sum == 0
    assert of(table.REMOTE_SECONDS, "CreateAcls").sum == 10
    assert of(table.REQUEST_SECONDS, "CreateAcls").sum == 10
    assert of(table.REMOTE_SECONDS, "CreateAcls").count == 2
    assert slow.value(table.REQUESTS, "CreateAcls", "none") == 2


def test_items_that_take_too_long_time_out(kind: str) -> None:
    """After doorkeeper.update.timeout.ms each such item says so, and nothing waits any longer."""

    async def scenario(running: Edge, slow: Slow) -> None:
        client = await running.client()
        await client.send(create(["in-time", "late", "later"]))
        await until(lambda: "later" in slow.futures)
        slow.complete("in-time")

        _, body = answer(await client.frame(), CreateAclsResponse, 3)
        assert [each.error_code for each in body.results] == [0, 7, 7]
        assert running.server.updates_in_flight == 0

    slow = served(kind, scenario, Limits(update_timeout_ms=1000))

    assert slow.value(table.ITEMS_TIMED_OUT, ACL_UPDATE) == 2
    assert slow.value(table.REQUESTS, "CreateAcls", "REQUEST_TIMED_OUT") == 1
