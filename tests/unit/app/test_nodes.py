"""A node among others: only where the store is shared."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from testkit.edge import PATIENCE_S
from testkit.reconfigured import Running, running

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from testkit.postgres import Database

TIMES = "broker.heartbeat.interval.ms=100\nbroker.session.timeout.ms=1000\n"


async def becomes(read: Callable[[], object], expected: object) -> None:
    """Wait until something is as it shall be."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while read() != expected and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    assert read() == expected


async def test_alone_there_are_no_others(tmp_path: Path) -> None:
    """With an embedded store a node is the only one."""
    async with running(tmp_path, "node.id=4\n") as server:
        node = server.assembly.node

        assert [each.node_id for each in node.brokers("PLAINTEXT")] == [4]
        assert node.controller_id == 4


class Cluster:
    """Nodes of one database."""

    def __init__(self, tmp_path: Path, database: Database, times: str = TIMES) -> None:
        self._times = times
        self._folder = tmp_path
        self._database = database
        self._stacks: dict[int, AsyncExitStack] = {}

    async def start(self, node_id: int, more: str = "") -> Running:
        folder = self._folder / f"{node_id}-{len(list(self._folder.iterdir()))}"
        folder.mkdir()
        text = f"node.id={node_id}\ndoorkeeper.store={self._database.url()}\n{self._times}{more}"
        stack = AsyncExitStack()
        server = await stack.enter_async_context(running(folder, text))
        self._stacks[node_id] = stack
        return server

    async def stop(self, node_id: int) -> None:
        await self._stacks.pop(node_id).aclose()

    async def close(self) -> None:
        for node_id in list(self._stacks):
            await self.stop(node_id)


def listed(server: Running) -> list[int]:
    return [each.node_id for each in server.assembly.node.brokers("PLAINTEXT")]


@pytest.mark.interop
async def test_nodes_come_and_go(tmp_path: Path, database: Database) -> None:
    """Who starts is listed by all, who stops by none, at once; the lowest id is the controller."""
    # Longer than a test waits: one that takes no leave would be listed until its session is over.
    cluster = Cluster(tmp_path, database, TIMES.replace("=1000", "=3600000"))
    one, two = await cluster.start(1), await cluster.start(2)
    assert listed(two) == [1, 2]
    await becomes(lambda: listed(one), [1, 2])
    ports = {each.port for each in one.assembly.node.brokers("PLAINTEXT")}
    assert ports == {each.port for each in two.assembly.node.brokers("PLAINTEXT")}
    assert len(ports) == 2
    assert one.assembly.node.controller_id == two.assembly.node.controller_id == 1

    await cluster.stop(1)
    await becomes(lambda: listed(two), [2])

    assert two.assembly.node.controller_id == 2
    await cluster.close()
