"""Records of topics, by the client: what passes is tried again, what stays is an error."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaProducer

from doorkeeper.client.errors import ApiFailure
from doorkeeper.client.topics import Fetched, PartitionOffsets, TopicReader
from doorkeeper.testing import DoorkeeperServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def server() -> Iterator[DoorkeeperServer]:
    """Run a server with a topic that has a record."""
    with DoorkeeperServer(topics=["audit"], records=True) as running:
        settings = running.client_config().kafka_python()
        with closing(KafkaProducer(**settings, max_block_ms=10_000)) as producer:
            producer.send("audit", b"a line").get(10)
        yield running


async def read(server: DoorkeeperServer) -> tuple[dict[int, PartitionOffsets], Fetched]:
    """Return the offsets of the topic, and its records."""
    async with TopicReader(server.client_config().doorkeeper()) as reader:
        await reader.describe("audit")
        return await reader.offsets("audit"), await reader.fetch("audit", 0, 0)


def test_offsets_and_records(server: DoorkeeperServer) -> None:
    """The end is that of the next record; batches are as the producer sent them."""
    offsets, fetched = asyncio.run(read(server))

    assert offsets == {0: PartitionOffsets(0, 1)}
    assert b"a line" in fetched.records
    assert fetched.aborted == ()


@pytest.mark.parametrize("api", ["ListOffsets", "Fetch"])
def test_what_passes(server: DoorkeeperServer, api: str) -> None:
    """A connection that ends, and a leader that is none any more, are tried again."""
    with server.faults.drop(api, times=1) as lost:
        asyncio.run(read(server))
    with server.faults.error(api, "NOT_LEADER_OR_FOLLOWER", times=2) as moved:
        _, fetched = asyncio.run(read(server))

    assert b"a line" in fetched.records
    assert lost.struck == 1
    assert moved.struck == 2


@pytest.mark.parametrize("api", ["ListOffsets", "Fetch"])
def test_what_stays(server: DoorkeeperServer, api: str) -> None:
    """A refusal is an error with Kafka's code."""
    with (
        server.faults.error(api, "TOPIC_AUTHORIZATION_FAILED"),
        pytest.raises(ApiFailure, match="TOPIC_AUTHORIZATION_FAILED"),
    ):
        asyncio.run(read(server))


def test_an_unknown_topic(server: DoorkeeperServer) -> None:
    """It is an error at once, and the topic is not created."""

    async def describe() -> None:
        async with TopicReader(server.client_config().doorkeeper()) as reader:
            await reader.describe("nothing")

    for _ in range(2):
        with pytest.raises(ApiFailure, match="UNKNOWN_TOPIC_OR_PARTITION"):
            asyncio.run(describe())
