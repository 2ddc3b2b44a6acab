"""Real controllers whose metadata log is followed, with foreign edits by kafka-acls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.slices import run_to_end
from doorkeeper.client import ClientConfig
from doorkeeper.client.logged_acls import LogAcls
from doorkeeper.client.metadata_log import BEGIN, MetadataLog
from testkit.acl import READ, allow, topic
from testkit.kafka_broker import KafkaBroker
from testkit.kafka_jars import jars
from testkit.kafka_tools import KafkaTools
from testkit.or_skip import or_skip

if TYPE_CHECKING:
    from collections.abc import Iterator

RELEASE = "4.3.1"
ALICE = allow("alice", READ, topic("pay-in"))


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    """Give a broker that is its controller, with a snapshot after each few kilobytes."""
    found = or_skip(
        lambda: KafkaBroker(
            jars(RELEASE),
            users={"admin": "admin-secret"},
            overrides={
                "metadata.log.max.record.bytes.between.snapshots": "2000",
                "metadata.log.max.snapshot.interval.ms": "1000",
                "metadata.max.retention.bytes": "1000",
                "internal.metadata.log.segment.bytes": "2000",
            },
        )
    )
    found.start()
    yield found
    found.stop()


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    """Give Kafka's tools."""
    found = or_skip(lambda: KafkaTools(jars(RELEASE)))
    yield found
    found.close()


def edit(tools: KafkaTools, broker: KafkaBroker, action: str, user: str) -> None:
    """Add or remove an ACL as an administrator of the cluster does."""
    words = ("--allow-principal", f"User:{user}", "--operation", "Read", "--topic", "pay-in")
    sure = ("--force",) if action == "--remove" else ()
    address = f"localhost:{broker.plain_port}"
    done = tools.run("kafka-acls", "--bootstrap-server", address, action, *words, *sure)
    assert done.status == 0, done.text


@pytest.mark.slow
async def test_snapshot_before_the_log_start_is_read(
    broker: KafkaBroker, tools: KafkaTools
) -> None:
    edit(tools, broker, "--add", "alice")
    config = ClientConfig(bootstrap=f"localhost:{broker.controller_port}", controllers=True)
    log = await MetadataLog.connect(config)
    try:
        # The controller cleans its log once a minute.
        part = await log.fetch(BEGIN, 0, 0)
        for _ in range(300):
            part = await log.fetch(BEGIN, 0, 0)
            if part.snapshot is not None:
                break
            await asyncio.sleep(0.5)
        assert part.snapshot is not None, "the controller keeps its whole log"
        acls = LogAcls()
        acls.load(await log.snapshot(part.snapshot), part.snapshot)
        part = await log.fetch(acls.position, acls.position.offset, 0)
        while acls.position.offset < part.high_watermark:
            part = await log.fetch(acls.position, acls.position.offset, 0)
            run_to_end(acls.apply(part.records, part.high_watermark))
        assert set(acls.bindings.values()) == {ALICE}
    finally:
        await log.close()
    edit(tools, broker, "--remove", "alice")
