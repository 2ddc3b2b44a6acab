"""AlterPartitionReassignments: rights, the update, rows."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.api.node import Update
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.handlers.alter_partition_reassignments import API
from doorkeeper.topics.reassignment import Reassignment
from doorkeeper_wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from testkit.acl import allow
from testkit.nodes import CLUSTER, a_topic, answer, arguments, node_of, on_the_wire, outcome

TOPICS = (
    ReassignableTopic(
        name="a",
        partitions=(
            ReassignablePartition(partition_index=0, replicas=(2, 1)),
            ReassignablePartition(partition_index=1, replicas=None),
        ),
    ),
    ReassignableTopic(name="x", partitions=(ReassignablePartition(partition_index=0),)),
)


def rows_of(response: Any) -> list[tuple[str, int, int, str | None]]:
    """Return topic, partition, code and text of each row."""
    return [
        (each.name, row.partition_index, row.error_code, row.error_message)
        for each in response.responses
        for row in each.partitions
    ]


@pytest.mark.parametrize(("version", "may_resize"), [(0, True), (1, False)])
async def test_partitions_are_moved(version: int, may_resize: object) -> None:
    """Version 0 may change the number of replicas; the rows have the order of the request."""
    node = await node_of(allow("alice", AclOperation.ALTER, CLUSTER), topics=[a_topic("a", 2)])
    request = AlterPartitionReassignmentsRequest(
        topics=TOPICS, allow_replication_factor_change=bool(may_resize)
    )

    made = outcome(API, request, node, version, user="alice")

    assert isinstance(made, Update)
    assert arguments(made)[1:] == (
        [
            Reassignment("a", 0, (2, 1), bool(may_resize)),
            Reassignment("a", 1, None, bool(may_resize)),
            Reassignment("x", 0, None, bool(may_resize)),
        ],
        node.listed,
    )
    fault = ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    found = on_the_wire(made.respond([None, fault, fault]), version)
    assert rows_of(found) == [("a", 0, 0, None), ("a", 1, 85, None), ("x", 0, 85, None)]
    assert (found.error_code, found.error_message) == (0, None)


async def test_refusals() -> None:
    """For the request and in every row: 31 without ALTER, 7 without time."""
    node = await node_of(topics=[a_topic("a", 2)])
    request = AlterPartitionReassignmentsRequest(topics=TOPICS, timeout_ms=0)

    refused = answer(API, request, node, 1, user="alice")
    struck = answer(API, request, node, 1)

    assert [row[2] for row in rows_of(refused)] == [31, 31, 31]
    assert [row[2] for row in rows_of(struck)] == [7, 7, 7]
    assert (refused.error_code, struck.error_code) == (31, 7)
