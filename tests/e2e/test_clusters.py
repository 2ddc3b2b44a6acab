"""Servers that are killed while they change a cluster."""

from __future__ import annotations

import json
from shutil import rmtree
from typing import TYPE_CHECKING

from doorkeeper.client import AdminClient, ClientConfig
from testkit.acl import READ, allow, topic
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_broker import free_port
from testkit.kafka_target import STANDARD
from testkit.synchronized import cluster, eventually, store_id_of, target

if TYPE_CHECKING:
    from pathlib import Path

FOREIGN = allow("dora", READ, topic("hr-1"))
OURS = [allow(f"user-{number}", READ, topic("pay-in")) for number in range(300)]


async def test_killed_server_resumes_the_change(tmp_path: Path) -> None:
    with target([FOREIGN]) as kafka:
        clusters = tmp_path / "clusters.yaml"
        slowly = {"limits": {"batch": 5, "rate": 200}, "scope": {"prefixes": ["pay-"]}}
        entry = cluster("a", kafka.bootstrap_servers, **slowly)

        def write(store_id: str) -> None:
            found = {"clusters": [entry | {"store": store_id}]}
            clusters.write_text(json.dumps(found), encoding="utf-8")

        write("of-a-store-that-is-not")
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
            store_id = store_id_of(server.folder / "data")
            write(store_id)
            server.kill()
            assert kafka.acls() == [FOREIGN]
            server.start()
            for part in (20, 100, 200):
                eventually(lambda part=part: len(kafka.acls()) > part)  # type: ignore[misc]
                server.kill()
                left = kafka.acls()
                assert set(left) < {*OURS, FOREIGN}
                server.start()
            eventually(lambda: set(kafka.acls()) == {*OURS, FOREIGN})
            server.kill()
            assert set(kafka.acls()) == {*OURS, FOREIGN}
            # A data folder that is lost: the server starts with a store of its own.
            rmtree(server.folder / "data")
            server.start()
            eventually(lambda: f"belongs to store {store_id}" in server.log.read_text("utf-8"))
            server.kill()
            assert set(kafka.acls()) == {*OURS, FOREIGN}
        finally:
            server.close()
