"""The socket's side of a connection, in clear and over TLS: turns, back-pressure, its end."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from doorkeeper.server.api.node import DelayedResponse
from doorkeeper.server.net.channel import PIECE_BYTES
from doorkeeper.server.net.limits import Limits
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from testkit.channels import World
from testkit.edge import LOOP_KINDS, PATIENCE_S, answer, bare, describe, edge, run, until
from testkit.edge_apis import APIS
from testkit.tls import client_context, door

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

    from doorkeeper.server.api.node import Node, Outcome
    from doorkeeper.server.runtime.request_context import RequestContext


async def test_turn_ends_after_some_frames() -> None:
    channel, transport = World(Limits(frames_per_turn=2)).connect()

    channel.data_received(b"".join(describe(str(number)) for number in range(5)))

    assert transport.names() == ["0", "1"]
    assert not transport.is_reading()
    await asyncio.sleep(0)
    assert transport.names() == ["0", "1", "2", "3"]
    await until(transport.is_reading)
    assert transport.names() == ["0", "1", "2", "3", "4"]


async def test_reading_stops_while_the_peer_does_not_read() -> None:
    world = World()
    channel, transport = world.connect()
    transport.stuck = True

    channel.data_received(describe("a"))
    assert not transport.is_reading()
    assert world.context.outgoing.total == len(transport.writes[0])
    channel.data_received(describe("b"))
    assert transport.names() == ["a"]
    transport.stuck = False
    channel.resume_writing()

    assert transport.names() == ["a", "b"]
    assert transport.is_reading()
    assert world.context.outgoing.total == 0


async def test_largest_holder_of_responses_is_closed() -> None:
    world = World(Limits(queued_out_bytes_max=1000))
    (small, small_pipe), (large, large_pipe) = world.connect(), world.connect()
    small_pipe.stuck = large_pipe.stuck = True

    large.data_received(describe("x" * 800))
    assert not large_pipe.aborted
    small.data_received(describe("x" * 300))

    assert (small_pipe.aborted, large_pipe.aborted) == (False, True)
    assert world.log.one("too much memory in use by connections: closing the largest")
    assert world.context.outgoing.total < 1000


async def test_largest_holder_of_requests_is_closed() -> None:
    world = World(Limits(queued_in_bytes_max=1000))
    (small, small_pipe), (large, large_pipe) = world.connect(), world.connect()

    large.data_received((5000).to_bytes(4) + bytes(800))
    small.data_received((5000).to_bytes(4) + bytes(300))
    small.data_received(bytes(100))

    assert (small_pipe.aborted, large_pipe.aborted) == (False, True)
    assert world.context.incoming.total < 1000


async def test_turn_that_had_time_for_everything_stops_no_reading() -> None:
    """A request that takes all of its turn, and with which nothing else came, ends it for good."""
    world = World(Limits(frames_per_turn=1))
    channel, transport = world.connect()
    paused = []
    transport.pause_reading = lambda: paused.append(True)  # type: ignore[method-assign]

    for name in "ab":
        channel.data_received(describe(name))

    assert (transport.names(), paused) == (["a", "b"], [])


async def test_bad_request_is_one_log_line() -> None:
    world = World()
    channel, transport = world.connect()

    channel.data_received(describe("a") + bare(b"") + describe("b"))

    assert transport.names() == ["a"]
    assert transport.closing
    line = world.log.one("closing connection")
    assert line.level == "warning"
    assert line.fields["connection"] == "127.0.0.1:9092-127.0.0.1:50000-0-7"
    assert line.fields["offset"] == 0


async def test_half_close_answers_earlier_requests() -> None:
    channel, transport = World(Limits(frames_per_turn=1)).connect()
    channel.data_received(describe("a") + describe("b"))

    assert channel.eof_received()

    assert not transport.closing
    await until(lambda: transport.closing)
    assert transport.names() == ["a", "b"]


async def test_stop_answers_nothing_behind_a_dropped_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Java's clients take an answer for that of their first request without one, and fail."""
    event: asyncio.Future[DescribeAclsResponse] = asyncio.get_running_loop().create_future()
    api = APIS[DescribeAclsRequest.API_KEY]

    def handle(request: DescribeAclsRequest, context: RequestContext, node: Node) -> Outcome:
        if request.resource_name_filter == "later":
            return DelayedResponse(event)
        return api.handle(request, context, node)

    monkeypatch.setitem(APIS, api.key, replace(api, handle=handle))
    channel, transport = World().connect()
    channel.data_received(describe("a") + describe("later", 2) + describe("b", 3))

    channel.drain()
    await until(lambda: transport.closing)
    channel.resume_writing()

    assert transport.names() == ["a"]
    assert not channel.connection.has_work


async def test_slow_reader_is_not_idle() -> None:
    world = World()
    channel, transport = world.connect()
    transport.stuck = True
    channel.data_received(describe("a" * 1000))
    world.clock.now_s += 10
    deadline_s = world.clock.now_s - 1

    assert channel.idle_since(deadline_s)
    transport.writes[-1] = transport.writes[-1][:500]
    assert not channel.idle_since(deadline_s)
    assert world.context.outgoing.total == 500
    world.clock.now_s += 10

    assert channel.idle_since(deadline_s + 10)


LONG = 1500
"""Rows of 10 kB: more than all buffers on the way hold."""


async def test_long_response_is_sent_in_chunks() -> None:
    world = World()
    (channel, transport), (other, others) = world.connect(), world.connect()

    channel.data_received(describe(f"long:{LONG}") + describe("b"))
    await until(lambda: len(transport.writes) == 2)
    transport.stuck = True
    await until(lambda: len(transport.writes) == 3)
    held = world.context.outgoing.total
    other.data_received(describe("c"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert (len(transport.writes), others.names()) == (3, ["c"])
    assert held > LONG * 10_000 - 3 * PIECE_BYTES

    transport.stuck = False
    channel.resume_writing()
    await until(lambda: not world.context.outgoing.total)

    assert max(map(len, transport.writes)) == PIECE_BYTES
    long, after = transport.answers()
    assert len(answer(long, DescribeAclsResponse, 3)[1].resources) == LONG
    assert answer(after, DescribeAclsResponse, 3)[1].error_message == "b"


both_loops = pytest.mark.parametrize("kind", LOOP_KINDS)


def raw_client(port: int) -> ssl.SSLSocket:
    """Connect, without a loop that would read by itself."""
    raw = socket.create_connection(("127.0.0.1", port))
    return client_context().wrap_socket(raw, server_hostname="localhost")


@both_loops
def test_unread_responses_are_counted(kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with edge(door(tmp_path)) as running:
            loop = asyncio.get_running_loop()
            client = await loop.run_in_executor(None, raw_client, running.port)
            await loop.run_in_executor(None, client.sendall, describe(f"long:{LONG}") * 3)
            held, now = 0, -1
            while held != now or now < 1_000_000:
                held, now = now, running.server.context.outgoing.total
                await asyncio.sleep(0.01)

            def read() -> list[int]:
                sizes = []
                with client, client.makefile("rb") as file:
                    for _ in range(3):
                        frame = file.read(int.from_bytes(file.read(4)))
                        _, body = answer(frame, DescribeAclsResponse, 3)
                        sizes.append(len(body.resources))
                return sizes

            assert await loop.run_in_executor(None, read) == [LONG] * 3
            await until(lambda: running.server.admission.total == 0)
            assert running.server.context.outgoing.total == 0

    run(kind, main())


async def test_stop_does_not_wait_for_peers(tmp_path: Path) -> None:
    async with edge(door(tmp_path)) as running:
        loop = asyncio.get_running_loop()
        client = await loop.run_in_executor(None, raw_client, running.port)
        with client:
            await until(lambda: all(each.is_connected for each in running.server._channels))
            async with asyncio.timeout(PATIENCE_S):
                assert await running.server.drain(3600.0) == 0
            assert await loop.run_in_executor(None, client.recv, 100) == b""


@both_loops
def test_stop_sends_pending_responses(kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with edge(door(tmp_path)) as running:
            loop = asyncio.get_running_loop()
            client = await loop.run_in_executor(None, raw_client, running.port)
            with client, client.makefile("rb") as file:
                await loop.run_in_executor(None, client.sendall, describe(f"long:{LONG}"))
                await until(lambda: running.server.context.outgoing.total > 1_000_000)
                stopping = asyncio.ensure_future(running.server.drain(20.0))

                def read() -> bytes:
                    return file.read(int.from_bytes(file.read(4)))

                frame = await loop.run_in_executor(None, read)
                assert len(answer(frame, DescribeAclsResponse, 3)[1].resources) == LONG
                assert await stopping == 0

    run(kind, main())
