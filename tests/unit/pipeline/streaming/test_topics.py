"""The stream of a topic, without a JVM: each record is in one batch."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient
from kafka.structs import TopicPartition

from doorkeeper.acls.decision import Policy
from doorkeeper.testing import DoorkeeperServer
from doorkeeper_pipeline.engines.local import LocalEngine
from doorkeeper_pipeline.errors import Conflicting
from doorkeeper_pipeline.streaming.batches import Batches
from doorkeeper_pipeline.streaming.topics import TopicStreamRequest, follow_topic
from doorkeeper_pipeline.topics.addresses import parse_topic
from testkit.pipeline_runs import confluent_event, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from doorkeeper_pipeline.engines.contract import Engine


class Killed(Exception):
    """Stands for the kill."""


class Site:
    """A server with a topic, and an output folder."""

    def __init__(self, server: DoorkeeperServer, out: Path) -> None:
        """Take a running server."""
        self.server = server
        self.batches = Batches(out)
        self.told: list[str] = []
        self._out = out

    def send(self, *values: str, partition: int = 0) -> None:
        """Write records."""
        settings = self.server.client_config().kafka_python()
        with closing(KafkaProducer(**settings, max_block_ms=10_000)) as producer:
            for value in values:
                producer.send("logs", value.encode(), partition=partition).get(10)

    def follow(
        self,
        checkpoint: Callable[[str], None] = lambda _: None,
        engine: Engine | None = None,
        **options: Any,
    ) -> None:
        """Read what is there."""
        address = parse_topic(f"kafka://{self.server.bootstrap_servers}/logs")
        request = TopicStreamRequest(
            address=address, out=self._out, policy=Policy(), once=True, **options
        )
        follow_topic(request, engine or LocalEngine(), self.told.append, lambda _: True, checkpoint)

    def counts(self) -> dict[str, int]:
        """Return how often each name was refused."""
        rows = pl.read_parquet(self.batches.decisions(), hive_partitioning=False)
        found = rows.group_by("resource_name").agg(pl.col("count").sum())
        return dict(found.rows())


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Run a server with a topic of two partitions."""
    topics: list[str | dict[str, Any]] = [{"name": "logs", "partitions": 2}]
    with DoorkeeperServer(topics=topics, records=True) as server:
        yield Site(server, tmp_path)


def test_new_records_are_a_batch(site: Site) -> None:
    """Offsets stand with the batch; without new records there is none."""
    site.send(record("x"), record("y"))
    site.send(record("x"), "garbage", partition=1)
    site.follow()
    site.follow()
    site.send(record("x"))

    site.follow()

    assert site.counts() == {"x": 3, "y": 1}
    assert site.batches.numbers() == [0, 1]
    assert site.told[0].startswith("batch 0: 2 ranges, 3 decisions; 1 pieces in quarantine")
    quarantine = pl.read_parquet(site.batches.quarantine(), hive_partitioning=False)
    assert quarantine.select("byte_offset", "text").rows() == [(1, "garbage")]


@pytest.mark.parametrize("step", ["staged", "renamed"])
def test_killed(site: Site, step: str) -> None:
    """Before the rename nothing was read, after it everything: no record counts twice."""

    def kill(reached: str) -> None:
        if reached == step:
            raise Killed

    site.send(record("x"))
    with pytest.raises(Killed):
        site.follow(kill)
    site.send(record("x"))

    site.follow()

    assert site.counts() == {"x": 2}


class StartsAgain(LocalEngine):
    """Runs each task twice, as Spark does when it loses a worker before it has the result."""

    def over_records(self, function: Any, tasks: Any) -> Iterator[Any]:
        list(super().over_records(function, tasks))
        return super().over_records(function, tasks)


def test_a_task_that_is_started_again(site: Site) -> None:
    """The rows of the one whose result came are in the batch, those of the other one are not."""
    site.send(record("x"), "garbage")

    site.follow(engine=StartsAgain())

    assert site.counts() == {"x": 1}
    assert len(site.batches.quarantine()) == 1


def test_deleted_by_retention(site: Site) -> None:
    """Records that were deleted before they were read are told."""
    site.send(record("x"))
    site.follow()
    site.send(*(record("x") for _ in range(3)))
    with closing(KafkaAdminClient(**site.server.client_config().kafka_python())) as admin:
        admin.delete_records({TopicPartition("logs", 0): 3})

    site.follow()

    assert site.counts() == {"x": 2}
    assert any("2 records deleted by the topic's retention" in each for each in site.told)


def test_several_clusters(site: Site) -> None:
    """One of them is selected; without a choice they are refused, and nothing is read."""
    site.send(confluent_event("lkc-1", "x"), confluent_event("lkc-2", "y"))

    with pytest.raises(Conflicting, match=r"of 2 clusters: lkc-1, lkc-2\. Choose one"):
        site.follow()
    site.follow(cluster="lkc-2")

    assert site.counts() == {"y": 1}
