"""ElectLeaders: why no other broker can lead."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.handlers.elect_leaders import API
from doorkeeper_wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from testkit.nodes import ANode, a_topic, answer, node_of

ASSIGNED = ((1, 7), (7, 1), (7, 8))
"""The preferred broker lives; another one does; none does."""


async def world() -> ANode:
    """Return a node, whose id is 1, with a topic on brokers that are there and not."""
    return await node_of(topics=[a_topic("a", 3, replication_factor=2, assignments=ASSIGNED)])


def rows_of(response: Any) -> list[tuple[str, int, int]]:
    """Return topic, partition and code of each row."""
    return [
        (each.topic, row.partition_id, row.error_code)
        for each in response.replica_election_results
        for row in each.partition_result
    ]


@pytest.mark.parametrize(("kind", "codes"), [(0, [84, 80, 80]), (1, [84, 84, 83])])
async def test_elections(kind: int, codes: list[int]) -> None:
    """Of the preferred broker, and of any where there is no leader."""
    asked = TopicPartitions(topic="a", partitions=(0, 1, 2))
    request = ElectLeadersRequest(topic_partitions=(asked,), election_type=kind)

    found = answer(API, request, await world(), 2)

    assert [row[2] for row in rows_of(found)] == codes
    texts = {
        80: "The preferred leader was not available.",
        83: "Eligible topic partition leaders are not available.",
        84: "Leader election not needed for topic partition.",
    }
    assert [row.error_message for row in found.replica_election_results[0].partition_result] == [
        texts[code] for code in codes
    ]
    assert found.error_code == 0


async def test_all_partitions_are_those_that_need_an_election() -> None:
    """A topic without any has an empty row."""
    node = await world()

    found = answer(API, ElectLeadersRequest(topic_partitions=None), node, 1)

    assert rows_of(found) == [("a", 1, 80), ("a", 2, 80)]


@pytest.mark.parametrize(("version", "own"), [(0, 0), (1, 31), (2, 31)])
async def test_a_refusal_is_in_every_row(version: int, own: int) -> None:
    """And, from version 1 on, that of the request."""
    asked = TopicPartitions(topic="a", partitions=(0, 1))
    request = ElectLeadersRequest(topic_partitions=(asked,))

    found = answer(API, request, await world(), version, user="alice")

    assert rows_of(found) == [("a", 0, 31), ("a", 1, 31)]
    assert found.error_code == own


async def test_an_election_of_an_unknown_type() -> None:
    """42 for the whole request."""
    request = ElectLeadersRequest(topic_partitions=(), election_type=2)

    assert answer(API, request, await world(), 2).error_code == 42
