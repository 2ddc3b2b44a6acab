"""OffsetForLeaderEpoch: epochs of partitions without records, and refusals."""

from __future__ import annotations

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.handlers.offset_for_leader_epoch import API
from doorkeeper_wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from testkit.acl import DESCRIBE, allow, topic
from testkit.nodes import CLUSTER, a_topic, answer, node_of


def asking(*names: str, epoch: int = 0, current: int = -1) -> OffsetForLeaderEpochRequest:
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
async def test_epochs(epoch: int, current: int, found: tuple[int, int, int]) -> None:
    """Code, epoch and end: epoch 0 and those before it end at 0, later ones are unknown."""
    node = await node_of(topics=[a_topic("a")])

    response = answer(API, asking("a", epoch=epoch, current=current), node, 4)

    row = response.topics[0].partitions[0]
    assert (row.error_code, row.leader_epoch, row.end_offset) == found


async def test_rights() -> None:
    """CLUSTER_ACTION shows all topics, DESCRIBE one; refused topics come last."""
    node = await node_of(
        allow("alice", DESCRIBE, topic("b")),
        allow("bob", AclOperation.CLUSTER_ACTION, CLUSTER),
        topics=[a_topic("a"), a_topic("b")],
    )

    def codes(user: str) -> list[tuple[str, int]]:
        response = answer(API, asking("a", "b", "absent"), node, 3, user=user)
        return [(row.topic, row.partitions[0].error_code) for row in response.topics]

    assert codes("alice") == [("b", 0), ("a", 29), ("absent", 29)]
    assert node.lines()[0] == "TRACE Denied CLUSTER_ACTION Cluster:LITERAL:kafka-cluster 1"
    assert codes("bob") == [("a", 0), ("b", 0), ("absent", 3)]
