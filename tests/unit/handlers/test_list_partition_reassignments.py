"""ListPartitionReassignments: an empty list, and refusals."""

from __future__ import annotations

from doorkeeper.handlers.list_partition_reassignments import API
from doorkeeper_wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from testkit.acl import DESCRIBE, allow
from testkit.nodes import CLUSTER, a_topic, answer, node_of

ONE = ListPartitionReassignmentsTopics(name="a", partition_indexes=(0, 9))


async def test_no_partition_is_on_its_way() -> None:
    """Neither of all topics nor of those that are named."""
    node = await node_of(allow("alice", DESCRIBE, CLUSTER), topics=[a_topic("a")])

    for topics in (None, (ONE,)):
        request = ListPartitionReassignmentsRequest(topics=topics)
        found = answer(API, request, node, 0, user="alice")
        assert (found.error_code, found.error_message, found.topics) == (0, None, ())


async def test_a_refusal_names_the_partitions() -> None:
    """31 for the whole request."""
    node = await node_of()

    found = answer(API, ListPartitionReassignmentsRequest(topics=(ONE,)), node, 0, user="alice")

    assert found.error_code == 31
    assert found.error_message == "Request Request(described) needs DESCRIBE permission."
    assert [row.partition_index for row in found.topics[0].partitions] == [0, 9]
