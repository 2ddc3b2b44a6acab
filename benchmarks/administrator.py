"""How long does an administrator wait, and for what?

    python benchmarks/administrator.py [--quick]

One server process, one connection unless said otherwise, over loopback. The baseline of each row
is an echo with asyncio streams that carries as many bytes there and back, in the same run, so that
a ratio says what the work costs beside moving its bytes. Changes are durable when answered.

    describe one          DescribeAcls of one topic, median of many
    create one            CreateAcls of one ACL, median of many
    create 10,000 x 1     one ACL a request, 64 requests in flight on 64 connections
    create 10,000         ten requests of 1,000 ACLs
    describe everything   DescribeAcls without a filter, at 100,000 ACLs
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import socket
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper_wire.framing import RequestHeader, encode_request
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

SERVER_PROPERTIES = """\
listeners=PLAINTEXT://127.0.0.1:{port}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
doorkeeper.data.dir={folder}/data
"""
START_S = 20.0
IN_FLIGHT = 64
BATCH = 1_000
REQUEST_ACLS_MAX = 10_000


class Row(NamedTuple):
    """What was measured: seconds here, and for the echo of as many bytes."""

    name: str
    ours_s: float
    echo_s: float
    acls: int = 1


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the numbers")
    asyncio.run(measure(10 if parser.parse_args().quick else 1))


async def measure(divisor: int) -> None:
    """Run the server and the echo; print a line for each row."""
    rounds, bulk, held = 2_000 // divisor, 10_000 // divisor, 100_000 // divisor
    port = free_port()
    echo = await asyncio.start_server(echo_frames, "127.0.0.1", 0)
    echo_port: int = echo.sockets[0].getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "server.properties"
        config.write_text(SERVER_PROPERTIES.format(port=port, folder=folder))
        command = ("-m", "doorkeeper", "serve", "--config", str(config))
        process = await asyncio.create_subprocess_exec(
            sys.executable, *command, stdout=asyncio.subprocess.DEVNULL
        )
        try:
            await reachable(port)
            numbers = itertools.count()
            rows = [row async for row in measured((port, echo_port), numbers, rounds, bulk, held)]
        finally:
            process.terminate()
            await process.wait()
    print(f"{'':34}{'ms':>10}{'echo, ms':>10}{'ratio':>8}{'ACLs a second':>16}")
    for row in rows:
        rate = f"{row.acls / row.ours_s:16,.0f}" if row.acls > 1 else ""
        cells = f"{row.ours_s * 1e3:10.2f}{row.echo_s * 1e3:10.2f}{row.ours_s / row.echo_s:8.1f}"
        print(f"{row.name:34}{cells}{rate}")


async def measured(
    ports: tuple[int, int], numbers: Iterator[int], rounds: int, bulk: int, held: int
) -> AsyncIterator[Row]:
    """Yield the rows."""
    ours, echo = [await Line.dial(port) for port in ports]
    await ours.ask(create(numbers, 10))
    one = [await ours.ask(DESCRIBE_ONE) for _ in range(rounds)]
    echoed = [await echo.ask(DESCRIBE_ONE) for _ in range(rounds)]
    yield Row("describe one", median(one), median(echoed))
    one = [await ours.ask(create(numbers, 1)) for _ in range(rounds)]
    echoed = [await echo.ask(create(numbers, 1)) for _ in range(rounds)]
    yield Row("create one", median(one), median(echoed))
    singles = [create(numbers, 1) for _ in range(bulk)]
    took = [await everywhere(port, singles) for port in ports]
    yield Row(f"create {bulk:,} x 1, {IN_FLIGHT} in flight", took[0], took[1], bulk)
    batches = [create(numbers, BATCH) for _ in range(max(bulk // BATCH, 1))]
    took = [sum([await line.ask(batch) for batch in batches]) for line in (ours, echo)]
    yield Row(f"create {len(batches) * BATCH:,}", took[0], took[1], len(batches) * BATCH)
    while (missing := held - next(numbers)) > 0:
        await ours.ask(create(numbers, min(missing, REQUEST_ACLS_MAX)))
    one = [await ours.ask(DESCRIBE_ALL) for _ in range(5)]
    whole = (ours.answered - 4).to_bytes(4) + bytes(ours.answered - 4)
    echoed = [await echo.ask(whole) for _ in range(5)]
    size = f"{ours.answered / 1e6:.1f} MB"
    yield Row(f"describe everything, {size}", median(one), median(echoed), held)
    ours.writer.close()
    echo.writer.close()


class Line:
    """One connection that asks and waits."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take the two halves."""
        self.reader = reader
        self.writer = writer
        self.answered = 0

    @classmethod
    async def dial(cls, port: int) -> Line:
        """Connect."""
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 24))

    async def ask(self, request: bytes) -> float:
        """Send a frame, wait for the answer; return the seconds."""
        begun_s = time.perf_counter()
        self.writer.write(request)
        size = int.from_bytes(await self.reader.readexactly(4))
        await self.reader.readexactly(size)
        self.answered = size + 4
        return time.perf_counter() - begun_s


async def everywhere(port: int, requests: Sequence[bytes]) -> float:
    """Send the requests over many connections, one in flight on each; return the seconds."""
    lines = [await Line.dial(port) for _ in range(IN_FLIGHT)]
    waiting = iter(requests)

    async def work(line: Line) -> None:
        for request in waiting:
            await line.ask(request)

    begun_s = time.perf_counter()
    await asyncio.gather(*(work(line) for line in lines))
    took_s = time.perf_counter() - begun_s
    for line in lines:
        line.writer.close()
    return took_s


async def echo_frames(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send each frame back."""
    try:
        while True:
            size = await reader.readexactly(4)
            writer.write(size + await reader.readexactly(int.from_bytes(size)))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionResetError):
        writer.close()


async def reachable(port: int) -> None:
    """Wait until somebody answers at the port."""
    deadline_s = time.monotonic() + START_S
    while True:
        try:
            line = await Line.dial(port)
        except ConnectionRefusedError:
            if time.monotonic() > deadline_s:
                raise
            await asyncio.sleep(0.02)
        else:
            line.writer.close()
            return


def create(numbers: Iterator[int], count: int) -> bytes:
    """Return a request that creates so many new ACLs."""
    creations = tuple(
        AclCreation(
            resource_type=2,
            resource_name=f"team-{number % 100}-topic-{number}",
            resource_pattern_type=3,
            principal=f"User:user-{number % 1000}",
            host="*",
            operation=3,
            permission_type=3,
        )
        for number in itertools.islice(numbers, count)
    )
    return frame(CreateAclsRequest(creations=creations))


def frame(message: CreateAclsRequest | DescribeAclsRequest) -> bytes:
    """Return a whole request of version 3."""
    header = RequestHeader(
        api_key=message.API_KEY, api_version=3, correlation_id=7, client_id="bench"
    )
    return encode_request(header, message.encode(3))


DESCRIBE_ONE = frame(
    DescribeAclsRequest(
        resource_type_filter=2,
        resource_name_filter="team-7-topic-7",
        pattern_type_filter=3,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
)
DESCRIBE_ALL = frame(
    DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
)


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
