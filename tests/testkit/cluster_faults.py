"""Faults of a cluster's nodes, its database, and the network between them."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable

    from testkit.cluster import Cluster

    Fault = Callable[[Cluster, random.Random], Awaitable[None]]


async def node_dies(cluster: Cluster, chance: random.Random) -> None:
    server = chance.choice(cluster.servers)
    await asyncio.to_thread(server.kill)
    await asyncio.sleep(chance.uniform(0, 0.5))
    await asyncio.to_thread(server.start)


async def node_stops(cluster: Cluster, chance: random.Random) -> None:
    server = chance.choice(cluster.servers)
    assert await asyncio.to_thread(server.stop) == 0
    await asyncio.to_thread(server.start)


async def connections_die(cluster: Cluster, chance: random.Random) -> None:
    for _ in range(3):
        await asyncio.to_thread(cluster.database.terminate_backends)
        await asyncio.sleep(chance.uniform(0.05, 0.3))


async def database_dies(cluster: Cluster, chance: random.Random) -> None:
    server = cluster.database.server
    await asyncio.to_thread(chance.choice([server.stop, server.kill]))
    await asyncio.sleep(chance.uniform(0, 0.5))
    await asyncio.to_thread(server.start)


async def network_parts(cluster: Cluster, chance: random.Random) -> None:
    proxy = chance.choice(cluster.proxies)
    part = chance.choice([proxy.cut, proxy.black_hole, proxy.pause])
    await asyncio.to_thread(part)
    # Some are over before a statement's time is, some last longer than a node's session.
    await asyncio.sleep(chance.choice((0.3, 1.5, 4.0)))
    await asyncio.to_thread(proxy.heal)


async def node_freezes(cluster: Cluster, chance: random.Random) -> None:
    pid = chance.choice(cluster.servers).pid
    for _ in range(4):
        os.kill(pid, signal.SIGSTOP)
        await asyncio.sleep(chance.uniform(0.05, 1))
        os.kill(pid, signal.SIGCONT)
        await asyncio.sleep(chance.uniform(0, 0.05))


async def database_pauses(cluster: Cluster, chance: random.Random) -> None:
    server = cluster.database.server
    await asyncio.to_thread(server.pause)
    try:
        # Shorter and longer than a statement may take, and than a node's session.
        await asyncio.sleep(chance.choice((0.3, 1.5, 4.0)))
    finally:
        await asyncio.to_thread(server.resume)


FAULTS: tuple[Fault, ...] = (
    node_dies,
    connections_die,
    database_dies,
    network_parts,
    node_stops,
    node_freezes,
)
