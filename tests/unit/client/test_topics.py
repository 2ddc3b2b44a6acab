"""Records of topics, by the client: what passes is tried again, what stays is an error."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaProducer

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


def test_transient_errors_are_retried(server: DoorkeeperServer) -> None:
    with server.faults.drop("Fetch", times=1) as lost:
        asyncio.run(read(server))
    with server.faults.error("ListOffsets", "NOT_LEADER_OR_FOLLOWER", times=1) as moved:
        _, fetched = asyncio.run(read(server))

    assert b"a line" in fetched.records
    assert lost.struck == 1
    assert moved.struck == 1
