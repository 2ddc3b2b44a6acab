"""Servers that are killed while they change a cluster."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from doorkeeper.client import AdminClient, ClientConfig
from testkit.acl import READ, allow, topic
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_broker import free_port
from testkit.kafka_target import STANDARD
from testkit.synchronized import cluster, eventually, target

if TYPE_CHECKING:
    from pathlib import Path

FOREIGN = allow("dora", READ, topic("hr-1"))
OURS = [allow(f"user-{number}", READ, topic("pay-in")) for number in range(300)]


async def test_a_killed_server_goes_on_where_it_was(tmp_path: Path) -> None:
    """While it is away nothing changes; then the rest follows, and nothing else is touched."""
    with target([FOREIGN]) as kafka:
        clusters = tmp_path / "clusters.yaml"
        slowly = {"limits": {"batch": 5, "rate": 200}, "scope": {"prefixes": ["pay-"]}}
        entry = cluster("a", kafka.bootstrap_servers, **slowly)
        clusters.write_text(json.dumps({"clusters": [entry]}), encoding="utf-8")
        port = free_port()
        server = DoorkeeperServer(
            {
                "listeners": f"PLAINTEXT://localhost:{port}",
                "authorizer.class.name": STANDARD,
                "super.users": "User:ANONYMOUS",
                "doorkeeper.clusters.file": str(clusters),
            },
            ports=(port,),
        )
        try:
            server.start()
            async with AdminClient(ClientConfig(bootstrap=f"localhost:{port}")) as admin:
                assert not any(each.error for each in await admin.create_acls(OURS))
            for part in (20, 100, 200):
                eventually(lambda part=part: len(kafka.acls()) > part)  # type: ignore[misc]
                server.kill()
                left = kafka.acls()
                assert set(left) < {*OURS, FOREIGN}
                server.start()
            eventually(lambda: set(kafka.acls()) == {*OURS, FOREIGN})
            server.kill()
            assert set(kafka.acls()) == {*OURS, FOREIGN}
        finally:
            server.close()
