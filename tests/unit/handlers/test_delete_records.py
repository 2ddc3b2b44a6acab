"""DeleteRecords: offsets of partitions without records, and refusals."""

from __future__ import annotations

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.handlers.delete_records import API
from doorkeeper_wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from testkit.acl import allow, topic
from testkit.nodes import ANode, a_topic, answer, node_of


def asked_of(
    node: ANode, name: str, index: int, offset: int, user: str = "alice"
) -> tuple[int, int]:
    """Return the code and the first offset that is left."""
    partition = DeleteRecordsPartition(partition_index=index, offset=offset)
    request = DeleteRecordsRequest(
        topics=(DeleteRecordsTopic(name=name, partitions=(partition,)),), timeout_ms=9
    )
    row = answer(API, request, node, 2, user="alice").topics[0].partitions[0]
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
async def test_answers(name: str, index: int, offset: int, found: tuple[int, int]) -> None:
    """What lies before offset 0 is deleted already; nothing lies behind it."""
    assert asked_of(await world(), name, index, offset) == found


async def test_only_the_leader_deletes() -> None:
    """Another node answers 6."""
    node = await world()
    node.node_id = 2

    assert asked_of(node, "a", 0, 0) == (6, -1)
