"""DescribeQuorum: the log of metadata, other partitions, observers, and refusals."""

from __future__ import annotations

import pytest

from doorkeeper.cluster.model import Broker, Member
from doorkeeper.handlers.describe_quorum import API
from doorkeeper_wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    Listener,
    PartitionRequest,
    TopicRequest,
)
from testkit.acl import DESCRIBE, allow
from testkit.nodes import CLUSTER, answer, node_of

WITH_CONTROLLERS = """
listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
"""


def asked(*topics: tuple[str, tuple[int, ...]]) -> DescribeQuorumRequest:
    """Return a request for these partitions."""
    return DescribeQuorumRequest(
        topics=tuple(
            TopicRequest(
                topic_name=name,
                partitions=tuple(PartitionRequest(partition_index=index) for index in indexes),
            )
            for name, indexes in topics
        )
    )


LOG = asked(("__cluster_metadata", (0,)))


@pytest.mark.parametrize("version", [0, 2])
async def test_the_controller_leads(version: int) -> None:
    """Offsets are revisions; the leader has fetched now, and shows its listeners from v2 on."""
    node = await node_of(allow("alice", DESCRIBE, CLUSTER), properties=WITH_CONTROLLERS)
    node.state = node.state._replace(revision=17)

    response = answer(API, LOG, node, version, user="alice")

    [row] = response.topics[0].partitions
    [voter] = row.current_voters
    assert (row.leader_id, row.high_watermark, row.observers) == (1, 17, ())
    assert (voter.replica_id, voter.log_end_offset) == (1, 17)
    assert voter.last_caught_up_timestamp == (node.now_ms() if version else -1)
    listeners = [each.listeners for each in response.nodes]
    expected = [(Listener(name="CONTROLLER", host="broker.example", port=9093),)]
    assert listeners == (expected if version >= 2 else [])


async def test_other_nodes_observe() -> None:
    """This node knows its own offset; that of a third is -1."""
    node = await node_of(secured=False, properties=WITH_CONTROLLERS)
    node.state = node.state._replace(
        revision=17, members=tuple(Member(each, {}, None, "") for each in (2, 3, 5))
    )
    node.node_id, node.controller_id = 3, 2
    node.controllers = (Broker(2, "two.example", 1), Broker(3, "three.example", 2))

    response = answer(API, LOG, node, 2)

    [row] = response.topics[0].partitions
    assert [each.replica_id for each in row.current_voters] == [2]
    assert [(each.replica_id, each.log_end_offset) for each in row.observers] == [(3, 17), (5, -1)]
    assert [each.host for each in response.nodes[0].listeners] == ["two.example"]


@pytest.mark.parametrize(
    "request_",
    [
        asked(("__cluster_metadata", (1,))),
        asked(("__cluster_metadata", (0, 1))),
        asked(("t", (0,)), ("__cluster_metadata", (0,))),
        asked(("__cluster_metadata", (0,)), ("t", ())),
    ],
)
async def test_other_partitions_are_unknown(request_: DescribeQuorumRequest) -> None:
    """Each with 3, the log too where it is not asked for alone."""
    node = await node_of(secured=False)

    response = answer(API, request_, node, 2)

    rows = [row for topic in response.topics for row in topic.partitions]
    assert {row.error_code for row in rows} == {3}
    assert {row.error_message for row in rows} == {
        "This server does not host this topic-partition."
    }
    assert [(each.topic_name, len(each.partitions)) for each in response.topics] == [
        (each.topic_name, len(each.partitions)) for each in request_.topics
    ]
