"""ListOffsets: times, epochs, leaders and refusals, of partitions without records."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.cluster.model import Broker
from doorkeeper.handlers.list_offsets import API
from doorkeeper_wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from testkit.acl import DESCRIBE, allow, topic
from testkit.nodes import a_topic, answer, node_of

Row = tuple[str, int, int, int, int]


def asking(*asked: tuple[str, int, int], replica_id: int = -1, **fields: Any) -> ListOffsetsRequest:
    """Return a request: topic, partition, time."""
    return ListOffsetsRequest(
        replica_id=replica_id,
        topics=tuple(
            ListOffsetsTopic(
                name=name,
                partitions=(ListOffsetsPartition(partition_index=index, timestamp=time, **fields),),
            )
            for name, index, time in asked
        ),
    )


def rows_of(response: Any) -> list[Row]:
    """Return topic, partition, code, offset and epoch of each row."""
    return [
        (each.name, row.partition_index, row.error_code, row.offset, row.leader_epoch)
        for each in response.topics
        for row in each.partitions
    ]


@pytest.mark.parametrize(
    ("time", "version", "row"),
    [
        (-1, 1, (0, 0, -1)),
        (-1, 4, (0, 0, 0)),
        (-2, 11, (0, 0, 0)),
        (-3, 6, (35, -1, -1)),
        (-3, 7, (0, -1, -1)),
        (-4, 7, (35, -1, -1)),
        (-4, 8, (0, 0, 0)),
        (-5, 8, (35, -1, -1)),
        (-5, 9, (0, -1, -1)),
        (-6, 10, (35, -1, -1)),
        (-6, 11, (0, -1, -1)),
        (-7, 11, (35, -1, -1)),
        (5, 11, (0, -1, -1)),
    ],
)
async def test_times(time: int, version: int, row: tuple[int, int, int]) -> None:
    """The bounds of an empty log are 0; no record is found; other codes are of later versions."""
    node = await node_of(topics=[a_topic("a")])

    found = answer(API, asking(("a", 0, time)), node, version)

    assert rows_of(found) == [("a", 0, *row)]


async def test_partitions_that_cannot_be_asked() -> None:
    """Absent ones are 3; one that is named twice is 42, once; refused topics come last."""
    node = await node_of(allow("alice", DESCRIBE, topic("a")), topics=[a_topic("a"), a_topic("b")])
    asked = asking(("b", 0, -1), ("a", 1, -1), ("a", 0, -1), ("a", 0, -2))

    found = answer(API, asked, node, 5, user="alice")

    assert rows_of(found) == [("a", 1, 3, -1, -1), ("a", 0, 42, -1, -1), ("b", 0, 29, -1, -1)]


async def test_only_the_leader_answers() -> None:
    """A replica answers a debugger; a node that does not hold the partition answers nobody."""
    node = await node_of(
        topics=[a_topic("a", 2, replication_factor=2, assignments=((2, 1), (2, 3)))]
    )
    node.listed = [Broker(number, "host", 9092) for number in (1, 2, 3)]
    places = (("a", 0, -1), ("a", 1, -1))

    client = answer(API, asking(*places), node, 4)
    debugger = answer(API, asking(*places, replica_id=-2), node, 4)

    assert [row[2] for row in rows_of(client)] == [6, 6]
    assert [row[2] for row in rows_of(debugger)] == [0, 6]
