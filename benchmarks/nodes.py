"""How soon do other nodes know what one has acknowledged, and what does sharing a store cost?

    python benchmarks/nodes.py [--quick]

Two server processes over a PostgreSQL that is started here, with its syncs; all on this machine.

    acknowledged on A, visible on B
        an ACL is made over the wire on A; a client of B asks for it again and again. The time is
        from A's answer to B's first answer that has it, at least 0; the asking itself is in it.
        Baseline: a bare commit with NOTIFY by one connection, until another one has heard it.
    changes a second
        one ACL a request, so many in flight: through one node, through both, and through a node
        with the embedded store, which is the baseline.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
import time
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Final

import asyncpg

from doorkeeper.client.config import ClientConfig, address_of
from doorkeeper.client.connection import ClientConnection
from doorkeeper_wire.messages.create_acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
)
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from testkit.cluster import Cluster
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_broker import free_port
from testkit.postgres import Postgres

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from testkit.postgres import Database

TOPIC, LITERAL, READ, ALLOW = 2, 3, 3, 3
IN_FLIGHT: Final = (1, 32)
WARM_UP: Final = 50


def creation(number: int) -> CreateAclsRequest:
    """Return the request that makes one ACL of its own."""
    made = AclCreation(
        resource_type=TOPIC,
        resource_name=f"orders-{number}",
        resource_pattern_type=LITERAL,
        principal=f"User:service-{number % 97}",
        host="*",
        operation=READ,
        permission_type=ALLOW,
    )
    return CreateAclsRequest(creations=(made,))


def question(number: int) -> DescribeAclsRequest:
    """Return the request that asks for it."""
    return DescribeAclsRequest(
        resource_type_filter=TOPIC,
        resource_name_filter=f"orders-{number}",
        pattern_type_filter=LITERAL,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )


async def dial(port: int) -> ClientConnection:
    """Connect to a node, and stay with it."""
    address = f"127.0.0.1:{port}"
    config = ClientConfig(bootstrap=address, request_timeout_ms=10_000)
    return await ClientConnection.connect(address_of(address), config)


async def make(connection: ClientConnection, number: int) -> None:
    """Make an ACL; it is durable when this returns."""
    answer = await connection.call(creation(number), CreateAclsResponse)
    assert answer.results[0].error_code == 0, answer


async def visibility(ports: Sequence[int], numbers: Iterator[int], rounds: int) -> list[float]:
    """Return the seconds from A's answer to B's first answer that has it."""
    writer, reader = await dial(ports[0]), await dial(ports[1])
    waits = []
    for _ in range(rounds):
        number = next(numbers)
        seen = asyncio.ensure_future(_first_seen(reader, number))
        await make(writer, number)
        acknowledged_s = time.perf_counter()
        waits.append(max(await seen - acknowledged_s, 0.0))
    await writer.close()
    await reader.close()
    return waits


async def _first_seen(connection: ClientConnection, number: int) -> float:
    while True:
        answer = await connection.call(question(number), DescribeAclsResponse)
        if answer.resources:
            return time.perf_counter()


async def bare_notices(database: Database, rounds: int) -> list[float]:
    """Return the seconds from a commit with NOTIFY to the notice at another connection."""
    speaker, listener = [await asyncpg.connect(database.url()) for _ in range(2)]
    heard: asyncio.Queue[float] = asyncio.Queue()
    await listener.add_listener("bench", lambda *_: heard.put_nowait(time.perf_counter()))
    await speaker.execute("CREATE TABLE bench (number bigint)")
    waits = []
    for number in range(rounds):
        async with speaker.transaction():
            await speaker.execute("INSERT INTO bench VALUES ($1)", number)
            await speaker.execute("SELECT pg_notify('bench', '')")
        committed_s = time.perf_counter()
        waits.append(max(await heard.get() - committed_s, 0.0))
    await speaker.close()
    await listener.close()
    return waits


async def rate(
    ports: Sequence[int], numbers: Iterator[int], in_flight: int, seconds: float
) -> float:
    """Return acknowledged changes a second, with so many in flight on each node."""
    connections = [await dial(port) for port in ports for _ in range(in_flight)]
    until_s = time.perf_counter() + seconds

    async def go_on(connection: ClientConnection) -> int:
        for done in itertools.count():
            if time.perf_counter() >= until_s:
                return done
            await make(connection, next(numbers))
        raise AssertionError

    began_s = time.perf_counter()
    done = sum(await asyncio.gather(*map(go_on, connections)))
    took_s = time.perf_counter() - began_s
    for connection in connections:
        await connection.close()
    return done / took_s


def told(name: str, waits: list[float], baseline: list[float]) -> None:
    """Print a row of times."""
    cells = ""
    for what in (waits, baseline):
        cells += f"{median(what) * 1e3:10.2f}{quantiles(what, n=100)[98] * 1e3:10.2f}"
    print(f"{name:34}{cells}{median(waits) / median(baseline):8.1f}")


async def measure(rounds: int, seconds: float) -> None:
    """Run the nodes; print both tables."""
    numbers = itertools.count()
    with Postgres() as server:
        database = server.create_database()
        bare = await bare_notices(server.create_database(), rounds)
        with Cluster(database, 2) as cluster:
            ports = cluster.ports
            await visibility(ports, numbers, WARM_UP)
            waits = await visibility(ports, numbers, rounds)
            print(
                f"{'':34}{'median ms':>10}{'p99 ms':>10}{'bare ms':>10}{'p99 ms':>10}{'ratio':>8}"
            )
            told("acknowledged on A, visible on B", waits, bare)
            print(
                f"\n{'changes a second':34}{'embedded':>10}{'one node':>10}{'both':>10}{'ratio':>8}"
            )
            for in_flight in IN_FLIGHT:
                alone = await embedded_rate(numbers, in_flight, seconds)
                one = await rate(ports[:1], numbers, in_flight, seconds)
                both = await rate(ports, numbers, in_flight, seconds)
                name = f"{in_flight} in flight on each node"
                print(f"{name:34}{alone:10,.0f}{one:10,.0f}{both:10,.0f}{one / alone:8.2f}")


async def embedded_rate(numbers: Iterator[int], in_flight: int, seconds: float) -> float:
    """Return the rate of a node with the embedded store."""
    port = free_port()
    server = DoorkeeperServer(
        {
            "listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        },
        ports=(port,),
    )
    try:
        server.start()
        return await rate((port,), numbers, in_flight, seconds)
    finally:
        server.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the numbers")
    quick = parser.parse_args().quick
    asyncio.run(measure(300 if quick else 3_000, 0.5 if quick else 4.0))
