"""Large requests are handled in a thread, while others are answered."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from doorkeeper.server.authorizer.contract import AclCreateResult
from doorkeeper.server.net.large_requests import LargeRequests
from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.protocol.large_request import (
    DECODED_HERE_BYTES_MAX,
    HANDLED_HERE_ELEMENTS_MAX,
)
from testkit.channels import PendingAuthorizer, World
from testkit.edge import create, describe, until, versions
from testkit.edge_apis import APIS
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from doorkeeper.server.api.node import Node, Outcome
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper_wire.messages.create_acls import CreateAclsRequest

CREATE_ACLS = 30
LARGE = create(["t"] * (HANDLED_HERE_ELEMENTS_MAX + 1), 1)


class Handler:
    """Handles CreateAcls; each request waits until the test lets it go on."""

    def __init__(self) -> None:
        self._handle = APIS[CREATE_ACLS].handle
        self.threads: list[str] = []
        self.begun, self.may_end = threading.Event(), threading.Event()

    def __call__(self, request: CreateAclsRequest, context: RequestContext, node: Node) -> Outcome:
        self.threads.append(threading.current_thread().name)
        self.begun.set()
        assert self.may_end.wait(scaled(20))
        return self._handle(request, context, node)


@contextmanager
def handling(monkeypatch: pytest.MonkeyPatch) -> Iterator[Handler]:
    """Serve CreateAcls by a handler that waits."""
    handler = Handler()
    monkeypatch.setitem(APIS, CREATE_ACLS, replace(APIS[CREATE_ACLS], handle=handler))
    try:
        yield handler
    finally:
        handler.may_end.set()


async def test_other_connections_are_served_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    authorizer = PendingAuthorizer()
    world = World(authorizer=authorizer)
    (large, large_pipe), (small, small_pipe) = world.connect(), world.connect()
    with handling(monkeypatch) as handler:
        large.data_received(LARGE + describe("after", 2))
        small.data_received(describe("a"))
        assert small_pipe.names() == ["a"]
        assert not large_pipe.writes
    await until(lambda: bool(authorizer.futures))
    for future in authorizer.futures:
        future.set_result(AclCreateResult())
    await until(lambda: len(large_pipe.answers()) == 2)

    (thread,) = handler.threads
    assert thread.startswith("doorkeeper-large")
    assert [int.from_bytes(frame[:4]) for frame in large_pipe.answers()] == [1, 2]


async def test_disconnect_cancels_a_large_request(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(authorizer=PendingAuthorizer())
    (first, first_pipe), (second, second_pipe) = world.connect(), world.connect()
    (third, third_pipe) = world.connect()
    with handling(monkeypatch) as handler:
        first.data_received(LARGE)
        await until(handler.begun.is_set)
        second.data_received(LARGE)
        third.data_received(create(["t"] * 9_000, 3))
        await asyncio.sleep(0)
        first.connection_lost(None)
        second.connection_lost(None)
        for _ in range(5):
            await asyncio.sleep(0)
    await until(lambda: len(handler.threads) == 2)

    assert not first_pipe.writes
    assert not second_pipe.writes
    third.connection_lost(None)
    assert not third_pipe.writes


async def test_large_requests_that_wait_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was received as a whole, and waits for the thread with all its bytes."""
    large = create(["t" * 200] * (HANDLED_HERE_ELEMENTS_MAX + 1), 1)
    authorizer = PendingAuthorizer()
    world = World(Limits(queued_in_bytes_max=2 * len(large)), authorizer=authorizer)
    connected = [world.connect() for _ in range(4)]
    with handling(monkeypatch) as handler:
        for channel, _ in connected:
            channel.data_received(large)
            await until(handler.begun.is_set)
        closed = [pipe.aborted for _, pipe in connected]
        held = world.context.incoming.total
        for channel, pipe in connected:
            if pipe.aborted:
                channel.connection_lost(None)
    left = [pipe for _, pipe in connected if not pipe.aborted]
    await until(lambda: len(authorizer.futures) >= len(left))
    for channel, pipe in connected:
        if not pipe.aborted:
            channel.connection_lost(None)

    assert closed.count(True) == 2
    assert 0 < held <= 2 * len(large)
    assert world.context.incoming.total == 0


async def test_software_of_a_large_request_is_taken() -> None:
    """ApiVersions is decoded in the thread too."""
    channel, transport = World().connect()
    software = "s" * DECODED_HERE_BYTES_MAX

    channel.data_received(versions(software=software))
    await until(lambda: bool(transport.writes))

    assert channel.connection.client_software == f"{software}/1.0"


class Noted:
    """A large request of an address, which notes that it is handled, and may wait in the thread."""

    def __init__(self, name: str, order: list[str], may_end: threading.Event) -> None:
        self.connection = SimpleNamespace(peer=SimpleNamespace(host=name[0]))
        self._name, self._order, self._may_end = name, order, may_end

    def begin(self, _on_loop: Any) -> None:
        self._order.append(self._name)

    def run(self) -> None:
        assert self._may_end.wait(scaled(20))

    def settle(self) -> Any:
        yield


async def test_addresses_take_turns() -> None:
    """Who sends many large requests waits behind its own."""
    requests = LargeRequests(asyncio.get_running_loop())
    order: list[str] = []
    may_end = threading.Event()
    tasks = [
        asyncio.create_task(requests.handle(Noted(name, order, may_end)))  # type: ignore[arg-type]
        for name in ("a1", "a2", "a3", "b1")
    ]
    await until(lambda: order == ["a1"])
    may_end.set()
    await asyncio.gather(*tasks)
    requests.close()

    assert order == ["a1", "a2", "b1", "a3"]


async def test_small_or_changing_requests_stay_on_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authorizer = PendingAuthorizer()
    world = World(authorizer=authorizer)
    with handling(monkeypatch) as handler:
        handler.may_end.set()
        world.connect()[0].data_received(create(["t"] * HANDLED_HERE_ELEMENTS_MAX))
        monkeypatch.setitem(APIS, CREATE_ACLS, replace(APIS[CREATE_ACLS], in_thread=False))
        world.connect()[0].data_received(LARGE)
        world.connect()[0].data_received(create(["t"] * 9_000))
        await until(lambda: len(handler.threads) == 3)

    assert set(handler.threads) == {threading.current_thread().name}
