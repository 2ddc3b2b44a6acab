"""Nodes of a shared store share the work on clusters; one that is killed leaves it to the other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from doorkeeper.client import AdminClient, ClientConfig, ClientError
from testkit import synchronized
from testkit.acl import READ, WRITE, allow, topic
from testkit.cluster import Cluster
from testkit.synchronized import cluster, doorkeeper, eventually, status_at, target

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.acls.model import AclBinding
    from testkit.postgres import Postgres

ROUNDS = 4
ALICE = allow("alice", READ, topic("pay-in"))
BOB = allow("bob", WRITE, topic("pay-out"))


def holders(nodes: Cluster) -> list[int]:
    """Return the nodes that synchronize the cluster."""
    return [
        number
        for number in range(len(nodes.ports))
        if status_at(nodes.operations_ports[number])["holder"]
    ]


async def create(nodes: Cluster, number: int, binding: AclBinding) -> bool:
    """Create an ACL on a node; return whether it was acknowledged."""
    config = ClientConfig(
        bootstrap=f"127.0.0.1:{nodes.ports[number]}", request_timeout_ms=10_000, timeout_ms=10_000
    )
    try:
        async with AdminClient(config) as admin:
            (result,) = await admin.create_acls([binding])
    except ClientError:
        return False
    return result.error is None


async def test_killed_lease_holder_is_replaced(postgres_server: Postgres, tmp_path: Path) -> None:
    database = postgres_server.create_database()
    store_id = synchronized.shared_store_id_of(database)
    clusters = tmp_path / "clusters.yaml"
    with target() as kafka:
        entry = cluster("a", kafka.bootstrap_servers, store=store_id)
        clusters.write_text(json.dumps({"clusters": [entry]}), encoding="utf-8")
        properties = {
            "doorkeeper.clusters.file": str(clusters),
            "doorkeeper.acknowledge": "clusters",
            "doorkeeper.store.lease.timeout.ms": "1000",
        }
        with Cluster(database, 2, properties=properties, operations_ports=True) as nodes:
            acknowledged = []
            for round_ in range(ROUNDS):
                eventually(lambda: len(holders(nodes)) == 1, nodes.logs)
                (holder,) = holders(nodes)
                for number in (0, 1):
                    binding = allow(f"user-{round_}-{number}", READ, topic("t"))
                    if await create(nodes, number, binding):
                        acknowledged.append(binding)
                        assert binding in kafka.acls()
                nodes.servers[holder].kill()
                other = nodes.operations_ports[1 - holder]
                eventually(lambda other=other: status_at(other)["holder"], nodes.logs)  # type: ignore[misc]
                binding = allow(f"user-{round_}-alone", READ, topic("t"))
                if await create(nodes, 1 - holder, binding):
                    acknowledged.append(binding)
                    assert binding in kafka.acls()
                kafka.remove_acls(acknowledged[:1])
                nodes.servers[holder].start()
                eventually(lambda: set(acknowledged) <= set(kafka.acls()), nodes.logs)
            assert len(acknowledged) == 3 * ROUNDS
    database.drop()


async def test_receipt_requires_every_broker(postgres_server: Postgres, tmp_path: Path) -> None:
    database = postgres_server.create_database()
    with Cluster(database, 2) as kafka:
        addresses = ",".join(f"127.0.0.1:{port}" for port in kafka.ports)
        quickly = {"properties": {"request.timeout.ms": 1000, "default.api.timeout.ms": 1000}}
        with doorkeeper(tmp_path, cluster("a", addresses, **quickly), acls=[ALICE]) as server:
            eventually(lambda: synchronized.status(server)["brokers"] == [1, 2], kafka.logs)

            kafka.servers[1].kill()
            server.add_acls([BOB])
            eventually(lambda: synchronized.status(server)["brokers"] == [1], kafka.logs)
            assert synchronized.status(server)["revision"] == 1

            kafka.servers[1].start()
            eventually(lambda: synchronized.status(server)["brokers"] == [1, 2], kafka.logs)
            assert await kafka.seen_by(1) == {("User:alice", "pay-in"), ("User:bob", "pay-out")}
    database.drop()
