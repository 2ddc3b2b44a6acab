"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords and DescribeProducers of empty partitions."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acls.model import AclOperation
from doorkeeper.server.api import (
    delete_records,
    describe_producers,
    list_offsets,
    offset_for_leader_epoch,
)
from doorkeeper_wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from doorkeeper_wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from doorkeeper_wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from doorkeeper_wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from testkit.acl import DESCRIBE, READ, allow, topic
from testkit.nodes import CLUSTER, ANode, a_topic, answer, node_of

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
async def test_offsets_by_time(time: int, version: int, row: tuple[int, int, int]) -> None:
    """The bounds of an empty log are 0; no record is found; other codes are of later versions."""
    node = await node_of(topics=[a_topic("a")])

    found = answer(list_offsets.API, asking(("a", 0, time)), node, version)

    assert rows_of(found) == [("a", 0, *row)]


async def test_invalid_partitions_are_rejected() -> None:
    """Absent ones are 3; one that is named twice is 42, once; refused topics come last."""
    node = await node_of(allow("alice", DESCRIBE, topic("a")), topics=[a_topic("a"), a_topic("b")])
    asked = asking(("b", 0, -1), ("a", 1, -1), ("a", 0, -1), ("a", 0, -2))

    found = answer(list_offsets.API, asked, node, 5, user="alice")

    assert rows_of(found) == [("a", 1, 3, -1, -1), ("a", 0, 42, -1, -1), ("b", 0, 29, -1, -1)]


def epoch_request(*names: str, epoch: int = 0, current: int = -1) -> OffsetForLeaderEpochRequest:
    """Return a request for partition 0 of topics."""
    partition = OffsetForLeaderPartition(
        partition=0, leader_epoch=epoch, current_leader_epoch=current
    )
    return OffsetForLeaderEpochRequest(
        topics=tuple(OffsetForLeaderTopic(topic=name, partitions=(partition,)) for name in names)
    )


@pytest.mark.parametrize(
    ("epoch", "current", "found"),
    [
        (0, -1, (0, 0, 0)),
        (0, 0, (0, 0, 0)),
        (1, -1, (0, -1, -1)),
        (-1, -1, (0, -1, -1)),
        (-2, -1, (0, -2, 0)),
        (0, 1, (75, -1, -1)),
        (0, -2, (74, -1, -1)),
    ],
)
async def test_offsets_for_leader_epoch(
    epoch: int, current: int, found: tuple[int, int, int]
) -> None:
    """Code, epoch and end: epoch 0 and those before it end at 0, later ones are unknown."""
    node = await node_of(topics=[a_topic("a")])

    response = answer(
        offset_for_leader_epoch.API, epoch_request("a", epoch=epoch, current=current), node, 4
    )

    row = response.topics[0].partitions[0]
    assert (row.error_code, row.leader_epoch, row.end_offset) == found


async def test_offsets_for_leader_epoch_require_permission() -> None:
    node = await node_of(
        allow("alice", DESCRIBE, topic("b")),
        allow("bob", AclOperation.CLUSTER_ACTION, CLUSTER),
        topics=[a_topic("a"), a_topic("b")],
    )

    def codes(user: str) -> list[tuple[str, int]]:
        response = answer(
            offset_for_leader_epoch.API, epoch_request("a", "b", "absent"), node, 3, user=user
        )
        return [(row.topic, row.partitions[0].error_code) for row in response.topics]

    assert codes("alice") == [("b", 0), ("a", 29), ("absent", 29)]
    assert node.lines()[0] == "TRACE Denied CLUSTER_ACTION Cluster:LITERAL:kafka-cluster 1"
    assert codes("bob") == [("a", 0), ("b", 0), ("absent", 3)]


def asked_of(
    node: ANode, name: str, index: int, offset: int, user: str = "alice"
) -> tuple[int, int]:
    """Return the code and the first offset that is left."""
    partition = DeleteRecordsPartition(partition_index=index, offset=offset)
    request = DeleteRecordsRequest(
        topics=(DeleteRecordsTopic(name=name, partitions=(partition,)),), timeout_ms=9
    )
    row = answer(delete_records.API, request, node, 2, user="alice").topics[0].partitions[0]
    return row.error_code, row.low_watermark


async def world() -> ANode:
    """Return a node with topics whose records alice may delete."""
    names = ("a", "compacted", "both", "absent", "__consumer_offsets")
    grants = [allow("alice", AclOperation.DELETE, topic(name)) for name in names]
    policies = {"compacted": "compact", "both": "compact,delete"}
    topics = [
        a_topic(name, configs={"cleanup.policy": policies[name]} if name in policies else {})
        for name in ("a", "b", "compacted", "both", "__consumer_offsets")
    ]
    return await node_of(*grants, topics=topics)


@pytest.mark.parametrize(
    ("name", "index", "offset", "found"),
    [
        ("a", 0, -1, (0, 0)),
        ("a", 0, 0, (0, 0)),
        ("a", 0, 1, (1, -1)),
        ("a", 0, -2, (1, -1)),
        ("a", 1, 0, (3, -1)),
        ("absent", 0, 0, (3, -1)),
        ("b", 0, 0, (29, -1)),
        ("compacted", 0, 0, (44, -1)),
        ("both", 0, 0, (0, 0)),
        ("__consumer_offsets", 0, 0, (17, -1)),
    ],
)
async def test_records_are_deleted(
    name: str, index: int, offset: int, found: tuple[int, int]
) -> None:
    """What lies before offset 0 is deleted already; nothing lies behind it."""
    assert asked_of(await world(), name, index, offset) == found


async def test_only_the_leader_deletes_records() -> None:
    """Another node answers 6."""
    node = await world()
    node.node_id = 2

    assert asked_of(node, "a", 0, 0) == (6, -1)


ABSENT = "This server does not host this topic-partition."


@pytest.mark.parametrize(
    ("name", "index", "code", "text"),
    [
        ("a", 0, 0, None),
        ("a", 1, 3, None),
        ("b", 0, 29, "Topic authorization failed."),
        ("absent", 0, 3, ABSENT),
        ("hidden", 0, 29, "Topic authorization failed."),
        ("", 0, 17, "Topic name is invalid: the empty string is not allowed"),
    ],
)
async def test_producers_are_described(name: str, index: int, code: int, text: str | None) -> None:
    """Names come first, then rights, then topics, then partitions."""
    node = await node_of(
        allow("alice", READ, topic("a")),
        allow("alice", READ, topic("absent")),
        topics=[a_topic("a"), a_topic("b")],
    )
    request = DescribeProducersRequest(
        topics=(TopicRequest(name=name, partition_indexes=(index,)),)
    )

    row = answer(describe_producers.API, request, node, 0, user="alice").topics[0].partitions[0]

    assert (row.error_code, row.error_message, row.active_producers) == (code, text, ())
