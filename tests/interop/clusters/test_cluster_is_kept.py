"""A real cluster, kept equal to a server that restarts, and that loses its store."""

from __future__ import annotations

import asyncio
import json
import shutil
from typing import TYPE_CHECKING

from doorkeeper.acls.model import PatternType, exactly
from doorkeeper.client import AdminClient, ClientConfig
from doorkeeper.testing import DoorkeeperProcess
from testkit.acl import READ, WRITE, allow, deny, group, topic
from testkit.kafka_broker import free_port
from testkit.kafka_cluster import KafkaCluster
from testkit.or_skip import or_skip
from testkit.synchronized import cluster, eventually, status_at, store_id_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from doorkeeper.acls.model import AclBinding

HOUR_MS = 3_600_000
KEYS = {"scope": {"prefixes": ["pay-"]}, "interval.ms": HOUR_MS}
ALICE, CAROL, MALLORY, OLD = (
    allow(name, READ, topic("pay-in")) for name in ("alice", "carol", "mallory", "old")
)
OURS = {
    ALICE,
    allow("alice", WRITE, topic("pay-", PatternType.PREFIXED)),
    allow("*", READ, topic("pay-out")),
    deny("mallory", READ, topic("pay-out")),
    allow("bob", READ, group("pay-readers"), "10.0.0.1"),
}
OUTSIDE = {allow("dora", READ, topic("hr")), allow("dora", READ, topic("*"))}


def edit(kafka: KafkaCluster, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> None:
    """Change the ACLs of the cluster as others do."""

    async def change() -> None:
        async with AdminClient(ClientConfig(bootstrap=kafka.direct[0])) as admin:
            created = await admin.create_acls([*added])
            deleted = await admin.delete_acls([*map(exactly, removed)])
        assert {each.error for each in created} | {each.first_error for each in deleted} == {None}

    asyncio.run(change())


def test_cluster_has_the_acls_of_its_store_and_keeps_all_others(tmp_path: Path) -> None:
    """Also what others change while the server runs, or is down; a lost store changes nothing.

    The intervals are long: what others change is known by the metadata log, or at the start.
    """
    file, data, port = tmp_path / "clusters.yaml", tmp_path / "data", free_port()
    properties = {
        "doorkeeper.clusters.file": str(file),
        "doorkeeper.data.dir": str(data),
        "doorkeeper.http.listener": f"http://127.0.0.1:{port}",
    }
    server = DoorkeeperProcess(
        listeners=["PLAINTEXT"], super_users=["User:ANONYMOUS"], properties=properties
    )
    with or_skip(lambda: KafkaCluster("4.3.1")) as kafka:
        entry = cluster("a", kafka.bootstrap, controllers=kafka.controllers, **KEYS)

        def is_kept(acls: set[AclBinding]) -> None:
            wanted = acls | OUTSIDE
            eventually(lambda: kafka.acls() == wanted, lambda: (kafka.acls(), status_at(port)))

        edit(kafka, [OLD, *OUTSIDE], [])
        file.write_text(json.dumps({"clusters": [entry]}), encoding="utf-8")
        with server:
            server.add_acls(OURS)
            eventually(lambda: status_at(port)["missing"] == len(OURS), lambda: status_at(port))
            assert kafka.acls() == {OLD, *OUTSIDE}
            entry["store"] = store_id_of(data)
            file.write_text(json.dumps({"clusters": [entry]}), encoding="utf-8")
            server.restart()
            is_kept(OURS)

            server.add_acls([CAROL])
            server.remove_acls([ALICE])
            is_kept(OURS - {ALICE} | {CAROL})
            eventually(lambda: status_at(port)["follows_log"], lambda: status_at(port))
            eventually(lambda: status_at(port)["revision"] == 3, lambda: status_at(port))
            before_ms = status_at(port)["since_ms"]
            edit(kafka, [MALLORY], [CAROL])
            eventually(lambda: status_at(port)["since_ms"] > before_ms, lambda: status_at(port))
            is_kept(OURS - {ALICE} | {CAROL})

            server.kill()
            edit(kafka, [ALICE, MALLORY], [CAROL])
            server.restart()
            is_kept(OURS - {ALICE} | {CAROL})

            server.kill()
            shutil.rmtree(data)
            server.restart()
            eventually(lambda: status_at(port)["extra"] == len(OURS), lambda: status_at(port))
            assert [each["rule"] for each in status_at(port)["held"]] == ["owner"]
            assert kafka.acls() == OURS - {ALICE} | {CAROL} | OUTSIDE
