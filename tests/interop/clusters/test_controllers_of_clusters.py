"""Real controllers whose log is followed: elections, restarts, and a principal that may not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acls.live_changes import binding_text
from doorkeeper.acls.model import CLUSTER_NAME, AclOperation, exactly
from doorkeeper.client import AdminClient, ClientConfig
from doorkeeper.client.errors import ClientError
from doorkeeper.client.metadata_log import MetadataLog
from doorkeeper.server.operations.audit.cluster_changes import EventKind
from doorkeeper.sync.config import load
from doorkeeper.sync.fleet import ClusterFleet
from doorkeeper.sync.following import log_refusal
from testkit.acl import DESCRIBE, READ, allow, topic
from testkit.acl import cluster as cluster_pattern
from testkit.kafka_broker import jaas
from testkit.kafka_cluster import START_S, KafkaCluster
from testkit.or_skip import or_skip
from testkit.synchronized import cluster, doorkeeper, eventually, status, synchronization

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.server.operations.audit.cluster_changes import ClusterEvent

RELEASE = "4.3.1"
HOUR_MS = 3_600_000
RESTARTS = 4


def started(**options: Any) -> KafkaCluster:
    """Return a cluster to enter, or skip."""
    return or_skip(lambda: KafkaCluster(RELEASE, **options))


async def leader(kafka: KafkaCluster) -> int:
    """Return the number of the active controller's broker."""
    for _ in range(600):
        for number, broker in enumerate(kafka.brokers):
            address = f"localhost:{broker.controller_port}"
            try:
                config = ClientConfig(bootstrap=address, controllers=True)
                log = await MetadataLog.connect(config)
            except ClientError:
                continue
            await log.close()
            return number
        await asyncio.sleep(0.1)
    raise AssertionError("there is no active controller")


@pytest.mark.slow
async def test_each_change_is_reported_once_across_elections(tmp_path: Path) -> None:
    edits = [allow(f"mallory-{number}", READ, topic("pay-in")) for number in range(3 * RESTARTS)]
    told: list[str] = []

    def note(event: ClusterEvent) -> None:
        if event.kind is EventKind.DRIFT:
            told.append(event.detail)

    with started(brokers=3) as kafka:
        entry = cluster(
            "a",
            kafka.bootstrap,
            mode="observe",
            controllers=kafka.controllers,
            **{"interval.ms": HOUR_MS},
        )

        async def add(admin: AdminClient, number: int) -> None:
            (created,) = await admin.create_acls([edits[number]])
            assert created.error is None
            await asyncio.to_thread(
                eventually, lambda: status(server)["extra"] == number + 1, lambda: status(server)
            )

        with doorkeeper(tmp_path, entry) as server:
            fleet = synchronization(server)._fleet
            assert isinstance(fleet, ClusterFleet)
            fleet.tell = note
            await asyncio.to_thread(
                eventually, lambda: status(server)["follows_log"], lambda: status(server)
            )
            config = ClientConfig(bootstrap=kafka.bootstrap, timeout_ms=120_000)
            async with AdminClient(config) as admin:
                for number in range(RESTARTS):
                    await add(admin, 3 * number)
                    broker = kafka.brokers[await leader(kafka)]
                    await asyncio.to_thread(broker.kill)
                    await add(admin, 3 * number + 1)
                    broker.launch()
                    await asyncio.to_thread(broker.wait, START_S)
                    await add(admin, 3 * number + 2)
                for each in edits:
                    await admin.delete_acls([exactly(each)])
            await asyncio.to_thread(
                eventually, lambda: status(server)["extra"] == 0, lambda: status(server)
            )

    assert sorted(told) == sorted(f"for example {binding_text(each)}" for each in edits)


@pytest.mark.slow
async def test_principal_without_cluster_action_polls(tmp_path: Path) -> None:
    users = {"admin": "admin-secret", "keeper": "keeper-secret"}
    own = 'username="admin" password="admin-secret"'
    overrides = {
        "listener.security.protocol.map": (
            "CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT"
        ),
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": jaas(users).replace(";", f" {own};"),
    }
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("password=keeper-secret\n", encoding="utf-8")
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": (
            "org.apache.kafka.common.security.plain.PlainLoginModule required"
            f' username="keeper" password="${{file:{secrets}:password}}";'
        ),
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }
    with started(users=users, overrides=overrides) as kafka:
        (broker,) = kafka.brokers
        entry = cluster(
            "a",
            f"localhost:{broker.sasl_port}",
            mode="observe",
            scope={"prefixes": ["pay-"]},
            controllers=f"localhost:{broker.controller_port}",
            properties=properties,
        )
        permission = allow("keeper", DESCRIBE, cluster_pattern(CLUSTER_NAME))
        action = allow("keeper", AclOperation.CLUSTER_ACTION, cluster_pattern(CLUSTER_NAME))
        async with AdminClient(ClientConfig(bootstrap=kafka.bootstrap)) as admin:
            await admin.create_acls([permission, allow("mallory", READ, topic("pay-in"))])
            with doorkeeper(tmp_path, entry) as server:
                await asyncio.to_thread(
                    eventually, lambda: status(server)["extra"] == 1, lambda: status(server)
                )
                await asyncio.to_thread(
                    eventually,
                    lambda: "CLUSTER_AUTHORIZATION_FAILED" in str(status(server)["polls_because"]),
                    lambda: status(server),
                )
                assert not status(server)["follows_log"]
                reason = status(server)["polls_because"]

            # What ``doorkeeper clusters status`` prints.
            (config,) = load(next(tmp_path.glob("clusters-*.yaml")))
            assert await log_refusal(config) == reason
            await admin.create_acls([action])
            for _ in range(200):
                if not await log_refusal(config):
                    break
                await asyncio.sleep(0.1)
            assert await log_refusal(config) == ""
