"""What waits, and what ends, where TLS stands between a connection and its socket."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING

import pytest

from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.edge import LOOP_KINDS, PATIENCE_S, answer, describe, edge, run, until
from testkit.tls import client_context, door

if TYPE_CHECKING:
    from pathlib import Path

both_loops = pytest.mark.parametrize("kind", LOOP_KINDS)
LONG = 1500
"""Rows of 10 kB: more than all buffers on the way hold."""


def raw_client(port: int) -> ssl.SSLSocket:
    """Connect, without a loop that would read by itself."""
    raw = socket.create_connection(("127.0.0.1", port))
    return client_context().wrap_socket(raw, server_hostname="localhost")


@both_loops
def test_answers_that_a_peer_does_not_take(kind: str, tmp_path: Path) -> None:
    """They are held and counted, the next request waits, and all of it arrives in the end."""

    async def main() -> None:
        async with edge(door(tmp_path)) as running:
            loop = asyncio.get_running_loop()
            client = await loop.run_in_executor(None, raw_client, running.port)
            await loop.run_in_executor(None, client.sendall, describe(f"long:{LONG}") * 3)
            await until(lambda: running.server.bytes_outgoing > 1_000_000)
            first = running.server.bytes_outgoing
            for _ in range(100):
                await asyncio.sleep(0)
            assert running.server.bytes_outgoing == first

            def read() -> list[int]:
                sizes = []
                with client, client.makefile("rb") as file:
                    for _ in range(3):
                        frame = file.read(int.from_bytes(file.read(4)))
                        _, body = answer(frame, DescribeAclsResponse, 3)
                        sizes.append(len(body.resources))
                return sizes

            assert await loop.run_in_executor(None, read) == [LONG] * 3
            await until(lambda: running.server.connections == 0)
            assert running.server.bytes_outgoing == 0

    run(kind, main())


async def test_a_stop_does_not_wait_for_goodbyes(tmp_path: Path) -> None:
    """Clients that do not look at their connection hold up nothing; they find its end later."""

    async with edge(door(tmp_path)) as running:
        loop = asyncio.get_running_loop()
        client = await loop.run_in_executor(None, raw_client, running.port)
        with client:
            await until(lambda: all(each.is_connected for each in running.server._channels))
            async with asyncio.timeout(PATIENCE_S):
                assert await running.server.drain(3600.0) == 0
            assert await loop.run_in_executor(None, client.recv, 100) == b""


@both_loops
def test_a_stop_lets_answers_leave(kind: str, tmp_path: Path) -> None:
    """What was asked before the stop is answered to its last byte, to a slow client too."""

    async def main() -> None:
        async with edge(door(tmp_path)) as running:
            loop = asyncio.get_running_loop()
            client = await loop.run_in_executor(None, raw_client, running.port)
            with client, client.makefile("rb") as file:
                await loop.run_in_executor(None, client.sendall, describe(f"long:{LONG}"))
                await until(lambda: running.server.bytes_outgoing > 1_000_000)
                stopping = asyncio.ensure_future(running.server.drain(20.0))

                def read() -> bytes:
                    return file.read(int.from_bytes(file.read(4)))

                frame = await loop.run_in_executor(None, read)
                assert len(answer(frame, DescribeAclsResponse, 3)[1].resources) == LONG
                assert await stopping == 0

    run(kind, main())
