"""Hostile and broken peers over real sockets, on both event loops."""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any

import pytest

from doorkeeper.server.authorizer.contract import AclCreateResult
from doorkeeper.server.net import ListenerSpec
from doorkeeper.server.net.limits import Limits
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.edge import (
    LOGIN,
    LOOP_KINDS,
    Clock,
    Edge,
    HandAuthorizer,
    create,
    describe,
    edge,
    frames,
    handshake,
    run,
    until,
    versions,
)
from testkit.edge_apis import long_answer
from testkit.load import scaled

pytestmark = pytest.mark.parametrize("kind", LOOP_KINDS)

Scenario = Callable[[Edge], Coroutine[Any, Any, None]]

MEGABYTE = 1_048_576
SASL = ListenerSpec(
    name="SASL", security_protocol="SASL_PLAINTEXT", host="127.0.0.1", port=0, security=LOGIN
)


def served(kind: str, scenario: Scenario, *specs: ListenerSpec, **more: Any) -> None:
    """Run a scenario against a server; afterwards the server still serves."""

    async def main() -> None:
        async with edge(*specs, **more) as running:
            await scenario(running)
            await still_serves(running)

    run(kind, main())


async def still_serves(running: Edge) -> None:
    client = await running.client()
    assert (await client.call(versions(), ApiVersionsResponse, 3)).error_code == 0
    client.leave()


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xff\xff",
        b"\x80\x00\x00\x00rest",
        b"\x7f\xff\xff\xff",
        b"\x00\x00\x00\x00",
        b"\x00\x00\x00\x03abc",
        b"\x00\x00\x00\x0a\x7f\xff\x00\x00\x00\x00\x00\x01\xff\xff",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
        bytes(reversed(range(256))) * 64,
    ],
    ids=["negative", "least", "oversize", "zero", "short", "unknown", "http", "tls", "garbage"],
)
def test_garbage_ends_only_its_own_connection(kind: str, data: bytes) -> None:
    async def scenario(running: Edge) -> None:
        other, bad = await running.client(), await running.client()
        await other.call(versions(), ApiVersionsResponse, 3)

        await bad.send(describe("before") + data)

        assert len(await bad.ended_frames()) == 1
        await other.call(describe("after"), DescribeAclsResponse, 3)
        assert len(running.log.events("warning")) == 1

    served(kind, scenario)


def test_incomplete_frames_are_limited_in_total(kind: str) -> None:
    limits = Limits(queued_in_bytes_max=4 * MEGABYTE)

    async def scenario(running: Edge) -> None:
        modest, greedy = await running.client(), await running.client()
        await modest.send((MEGABYTE).to_bytes(4) + bytes(MEGABYTE // 2))
        await greedy.send((90 * MEGABYTE).to_bytes(4))
        greedy.writer.write(bytes(5 * MEGABYTE))

        assert await greedy.ended() == b""
        assert running.log.one("too much memory in use by connections: closing the largest")
        assert running.server.admission.total == 1
        await modest.send(bytes(MEGABYTE // 2))  # its frame is whole now, and no request
        assert await modest.ended() == b""

    served(kind, scenario, limits=limits)


def test_thousands_of_pipelined_requests(kind: str) -> None:
    """All are answered in order, and meanwhile another client is not kept waiting for them."""
    count = 2_000

    async def scenario(running: Edge) -> None:
        flood, other = await running.client(), await running.client()
        await other.call(versions(), ApiVersionsResponse, 3)
        flood.writer.write(b"".join(describe("x", number) for number in range(count)))

        async def read_all() -> None:
            for number in range(count):
                assert int.from_bytes((await flood.frame())[:4]) == number

        reading = asyncio.ensure_future(read_all())
        before = running.server.counts.requests
        for _ in range(5):
            await other.call(describe("y"), DescribeAclsResponse, 3)
        during = running.server.counts.requests - before
        await reading

        assert during < count // 2

    served(kind, scenario)


def test_slow_reader_limits_its_responses(kind: str) -> None:
    count, rows = 120, 10

    async def scenario(running: Edge) -> None:
        with closing(slow_socket(running.port)) as slow:
            loop = asyncio.get_running_loop()
            for number in range(count):
                await loop.sock_sendall(slow, describe(f"long:{rows}", number))
            await stalled(running)
            assert running.server.counts.requests < count // 2
            assert running.server.context.outgoing.total < 4 * MEGABYTE
            await still_serves(running)

            data = await read_exactly(slow, count * answer_size(rows))

        found = [int.from_bytes(frame[:4]) for frame in frames(data)]
        assert found == list(range(count))
        assert running.server.context.outgoing.total == 0

    served(kind, scenario)


def test_half_open_peer_is_closed_when_idle(kind: str) -> None:
    clock = Clock()

    async def scenario(running: Edge) -> None:
        vanished, stranger = await running.client(), await running.client()
        await vanished.send(describe("a")[:9])
        await stranger.send(handshake())
        await stranger.frame()
        await until(lambda: running.server.context.incoming.total == 5)

        clock.now_s += 0.31
        assert await vanished.ended() == b""
        assert await stranger.ended() == b""
        assert running.log.events().count("connection closed: idle for too long") == 2

    served(kind, scenario, SASL, limits=Limits(idle_ms=300, sweeps_per_idle_time=30), clock=clock)


def test_half_closed_peer_receives_its_responses(kind: str) -> None:
    async def scenario(running: Edge) -> None:
        client = await running.client()
        client.writer.write(b"".join(describe("x", number) for number in range(500)))
        client.writer.write_eof()

        assert len(await client.ended_frames()) == 500
        await until(lambda: running.server.admission.total == 0)

    served(kind, scenario)


def test_disconnect_during_update_leaves_no_state(kind: str) -> None:
    futures: list[asyncio.Future[AclCreateResult]] = []

    def created(bindings: Any) -> list[asyncio.Future[AclCreateResult]]:
        futures.append(asyncio.get_running_loop().create_future())
        return futures[-1:]

    async def scenario(running: Edge) -> None:
        clients = [await running.client() for _ in range(20)]
        for client in clients:
            await client.send(create(["a"]) + describe("b"))
        await until(lambda: len(futures) == 20)
        for client in clients:
            client.leave()
        for future in futures:
            future.set_result(AclCreateResult())

        await until(lambda: running.server.admission.total == 0)

        server = running.server
        held = (
            len(server.context.updates),
            server.context.incoming.total,
            server.context.outgoing.total,
        )
        assert held == (0, 0, 0)
        assert not running.log.events("error")

    served(kind, scenario, authorizer=HandAuthorizer(created))


def test_reset_ends_only_its_connection(kind: str) -> None:
    async def scenario(running: Edge) -> None:
        for sent in (b"", describe("a")[:7], describe("a"), describe("long:500")):
            with closing(slow_socket(running.port)) as rude:
                await asyncio.get_running_loop().sock_sendall(rude, sent)
                await asyncio.sleep(0.005)
                rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await until(lambda: running.server.admission.total == 0)

        assert not running.log.events("error")

    served(kind, scenario)


def test_connections_wait_at_the_limit(kind: str) -> None:
    async def scenario(running: Edge) -> None:
        first = await running.client()
        await first.call(versions(), ApiVersionsResponse, 3)
        second = await running.client()
        await second.send(versions())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await second.frame()
        assert running.server.admission.total == 1

        first.leave()

        # The cancelled read may have taken a part of nothing only: no byte had come.
        await second.frame()
        second.leave()
        await until(lambda: running.server.admission.total == 0)

    served(kind, scenario, limits=Limits(connections_max=1))


def test_accepting_pauses_without_descriptors(kind: str) -> None:
    async def scenario(running: Edge) -> None:
        await still_serves(running)
        await until(lambda: running.server.admission.total == 0)
        "localhost".encode("idna")  # a codec is loaded from a file, which cannot be opened later
        loop = asyncio.get_running_loop()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with closing(socket.socket()) as waiting:
            waiting.setblocking(False)
            highest = waiting.fileno()
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
            fillers = []
            try:
                while True:
                    fillers.append(socket.socket())
            except OSError:
                pass
            try:
                await loop.sock_connect(waiting, ("127.0.0.1", running.port))
                async with asyncio.timeout(scaled(60)):
                    while not running.log.events("error"):
                        await asyncio.sleep(0.005)
            finally:
                for filler in fillers:
                    filler.close()
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            await loop.sock_sendall(waiting, versions())
            assert await loop.sock_recv(waiting, 4)
        line = running.log.one(
            "out of file descriptors: not accepting connections until some close"
        )
        assert line.fields["cause"] == "Too many open files"
        assert running.log.one("accepting connections again")

    served(kind, scenario, limits=Limits(accept_retry_ms=5))


# --- raw sockets


def slow_socket(port: int) -> socket.socket:
    """Return a connected socket that takes very little while nobody reads from it."""
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect(("127.0.0.1", port))
    slow.setblocking(False)
    return slow


async def stalled(running: Edge) -> None:
    """Wait until the server has stopped to answer its slow peer."""
    await until(lambda: running.server.context.outgoing.total > 0)
    while True:
        before = running.server.counts.requests
        await asyncio.sleep(0.05)
        if before == running.server.counts.requests:
            return


def answer_size(rows: int) -> int:
    return 4 + 5 + len(long_answer(rows).encode(3))


async def read_exactly(connected: socket.socket, size: int) -> bytes:
    loop = asyncio.get_running_loop()
    data = bytearray()
    async with asyncio.timeout(scaled(60)):
        while len(data) < size:
            piece = await loop.sock_recv(connected, MEGABYTE)
            assert piece
            data += piece
    return bytes(data)
