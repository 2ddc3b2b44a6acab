"""Real controllers whose metadata log is followed, with foreign edits by kafka-acls."""

from __future__ import annotations

import asyncio
import time
from statistics import median
from typing import TYPE_CHECKING

import pytest

from doorkeeper.client import ClientConfig
from doorkeeper.client.metadata_log import BEGIN, MetadataLog
from doorkeeper.clusters.log_acls import LogAcls
from doorkeeper.runtime.slices import run_to_end
from testkit.acl import READ, allow, topic
from testkit.kafka_broker import KafkaBroker
from testkit.kafka_jars import Unavailable, cannot, jars
from testkit.kafka_tools import KafkaTools
from testkit.synchronized import cluster, doorkeeper, eventually, status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RELEASE = "4.3.1"
HOUR_MS = 3_600_000
ALICE = allow("alice", READ, topic("pay-in"))


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    """Give a broker that is its controller, with a snapshot after each few kilobytes."""
    try:
        found = KafkaBroker(
            jars(RELEASE),
            users={"admin": "admin-secret"},
            overrides={
                "metadata.log.max.record.bytes.between.snapshots": "2000",
                "metadata.log.max.snapshot.interval.ms": "1000",
                "metadata.max.retention.bytes": "1000",
                "internal.metadata.log.segment.bytes": "2000",
            },
        )
    except Unavailable as missing:
        cannot(str(missing))
    found.start()
    yield found
    found.stop()


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    """Give Kafka's tools."""
    try:
        found = KafkaTools(jars(RELEASE))
    except Unavailable as missing:
        cannot(str(missing))
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
def test_foreign_edits_are_reported_from_the_log(
    broker: KafkaBroker, tools: KafkaTools, tmp_path: Path
) -> None:
    """Long before the next interval; an idle cluster is not described meanwhile."""
    entry = cluster(
        "a",
        f"localhost:{broker.plain_port}",
        mode="observe",
        controllers=f"localhost:{broker.controller_port}",
        **{"interval.ms": HOUR_MS},
    )
    with doorkeeper(tmp_path, entry) as server:
        eventually(lambda: status(server)["follows_log"], lambda: status(server))
        eventually(lambda: status(server)["reads"], lambda: status(server))
        reads = status(server)["reads"]
        after_ms = []
        for number in range(10):
            user = f"mallory-{number}"
            edit(tools, broker, "--add", user)
            edited_ms = time.time() * 1000  # noqa: TID251 - status has the time of day too
            eventually(
                lambda number=number: status(server)["extra"] == number + 1,  # type: ignore[misc]
                lambda: status(server),
            )
            (since_ms,) = (
                each["since_ms"]
                for each in status(server)["drift"]
                if f"User:{user} " in each["acl"]
            )
            after_ms.append(since_ms - edited_ms)
        for number in range(10):
            edit(tools, broker, "--remove", f"mallory-{number}")
        eventually(lambda: status(server)["extra"] == 0, lambda: status(server))

        print(f"reported after the tool had ended, median: {median(after_ms):.0f} ms")  # noqa: T201
        assert status(server)["reads"] == reads
        assert status(server)["follows_log"]


@pytest.mark.slow
async def test_a_snapshot_is_read_where_the_log_begins_later(
    broker: KafkaBroker, tools: KafkaTools
) -> None:
    """Its ACLs, and those of the records behind it, are those of the cluster."""
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
