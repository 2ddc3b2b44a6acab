"""A node that is cut off from the store of all, by a network that fails and comes back."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from doorkeeper.client.config import ClientConfig, address_of
from doorkeeper.client.connection import ClientConnection
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from doorkeeper_wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from testkit.cluster import UPDATE_TIMEOUT_MS, Cluster
from testkit.postgres import Database

NEAR, FAR = 0, 1
WITHIN_S = 60.0
TIMED_OUT = 7


async def call(cluster: Cluster, node: int, request: Any, response: Any) -> Any:
    address = f"127.0.0.1:{cluster.ports[node]}"
    config = ClientConfig(bootstrap=address, request_timeout_ms=UPDATE_TIMEOUT_MS + 5_000)
    connection = await ClientConnection.connect(address_of(address), config)
    try:
        return await connection.call(request, response)
    finally:
        await connection.close()


async def create(cluster: Cluster, node: int, name: str) -> tuple[int, str]:
    """Create an ACL on a topic; return the code and the text of the answer."""
    creation = AclCreation(
        resource_type=2,
        resource_name=name,
        resource_pattern_type=3,
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    )
    request = CreateAclsRequest(creations=(creation,))
    (result,) = (await call(cluster, node, request, CreateAclsResponse)).results
    return result.error_code, result.error_message or ""


async def names(cluster: Cluster, node: int) -> set[str]:
    return {name for _, name in await cluster.seen_by(node)}


async def nodes(cluster: Cluster, node: int) -> list[int]:
    answer = await call(cluster, node, DescribeClusterRequest(), DescribeClusterResponse)
    return sorted(each.broker_id for each in answer.brokers)


async def becomes(read: Callable[[], Awaitable[object]], expected: object) -> None:
    async with asyncio.timeout(WITHIN_S):
        while await read() != expected:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("how", ["cut", "black_hole"])
async def test_network_partition_heals(database: Database, how: str) -> None:
    with Cluster(database, 2) as cluster:
        assert await create(cluster, NEAR, "before") == (0, "")
        await becomes(lambda: names(cluster, FAR), {"before"})

        await asyncio.to_thread(getattr(cluster.proxies[FAR], how))
        refused = asyncio.ensure_future(create(cluster, FAR, "refused"))
        assert await create(cluster, NEAR, "meanwhile") == (0, "")
        await becomes(lambda: nodes(cluster, NEAR), [1])
        assert await names(cluster, FAR) == {"before"}
        assert await nodes(cluster, FAR) == [1, 2]
        code, text = await refused
        assert code == TIMED_OUT
        assert "The ACLs are as they were" in text

        waiting = asyncio.ensure_future(create(cluster, FAR, "waited"))
        await asyncio.sleep(0.3)
        await asyncio.to_thread(cluster.proxies[FAR].heal)

        assert await waiting == (0, "")
        # Who wrote reads it at once, and what others wrote before it.
        assert await names(cluster, FAR) == {"before", "meanwhile", "waited"}
        await becomes(lambda: names(cluster, NEAR), {"before", "meanwhile", "waited"})
        await becomes(lambda: nodes(cluster, NEAR), [1, 2])
        assert cluster.revisions() == [1, 2, 3]
