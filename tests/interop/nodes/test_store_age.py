"""A node that is cut off from the shared store, with a limit on the age of its state."""

import time
from collections.abc import Iterator

import pytest

from testkit.cluster import Cluster
from testkit.postgres import Postgres

pytestmark = pytest.mark.interop

MAX_AGE_S = 2.0
WITHIN_S = 30.0
CLUSTER_AUTHORIZATION_FAILED = 31


@pytest.fixture
def cluster(postgres_server: Postgres) -> Iterator[Cluster]:
    """Two nodes without super users: while there is no ACL, everything is allowed."""
    database = postgres_server.create_database()
    properties = {
        "super.users": "",
        "allow.everyone.if.no.acl.found": "true",
        "doorkeeper.store.max.age.ms": str(round(MAX_AGE_S * 1000)),
    }
    with Cluster(database, 2, properties=properties) as running:
        yield running
    database.drop()


async def is_allowed(cluster: Cluster, node: int) -> bool:
    """Say whether a node lets us describe ACLs."""
    answer = await cluster.described_by(node)
    assert answer.error_code in (0, CLUSTER_AUTHORIZATION_FAILED)
    return answer.error_code == 0


async def becomes(cluster: Cluster, node: int, *, allowed: bool) -> float:
    """Wait until a node allows, or denies; return how long it took, in seconds."""
    began_s = time.monotonic()
    while await is_allowed(cluster, node) is not allowed:
        if time.monotonic() - began_s > WITHIN_S:
            pytest.fail(f"node {node} still {'denies' if allowed else 'allows'}")
    return time.monotonic() - began_s


async def test_stale_node_denies(cluster: Cluster) -> None:
    assert await is_allowed(cluster, 0)

    cluster.proxies[0].cut()
    took_s = await becomes(cluster, 0, allowed=False)
    assert await is_allowed(cluster, 1)
    cluster.proxies[0].heal()
    await becomes(cluster, 0, allowed=True)

    # The state was confirmed some time before the cut; its age is looked at each second.
    assert took_s > MAX_AGE_S / 4
