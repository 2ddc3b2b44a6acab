"""Reassignments, elections and log directories of replicas."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import AclOperation
from doorkeeper.server.api import (
    alter_partition_reassignments,
    alter_replica_log_dirs,
    describe_log_dirs,
    elect_leaders,
    list_partition_reassignments,
)
from doorkeeper.server.api.node import Update
from doorkeeper.server.config.store_keys import DATA_DIR
from doorkeeper.server.schema.declared import TOPIC
from doorkeeper.server.state.state import EMPTY
from doorkeeper_wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from doorkeeper_wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from doorkeeper_wire.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
)
from doorkeeper_wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from doorkeeper_wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from testkit.acl import DESCRIBE, allow
from testkit.nodes import CLUSTER, ANode, a_topic, answer, brokers_of, node_of, on_the_wire, outcome
from testkit.plans import planned

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
async def test_reassignment_is_submitted(version: int, may_resize: object) -> None:
    """Version 0 may change the number of replicas; the rows have the order of the request."""
    node = await node_of(allow("alice", AclOperation.ALTER, CLUSTER), topics=[a_topic("a", 2)])
    node.listed = brokers_of(1, 2)
    request = AlterPartitionReassignmentsRequest(
        topics=TOPICS, allow_replication_factor_change=bool(may_resize)
    )

    made = outcome(alter_partition_reassignments.API, request, node, version, user="alice")

    assert isinstance(made, Update)
    change, errors = await planned(made, replace(EMPTY, topics=node.topics))
    found = on_the_wire(made.respond(errors), version)
    if may_resize:
        assert [row.assignments for row in change[TOPIC].set] == [("2,1",)]
    else:
        assert change == {}
    assert [row[:3] for row in rows_of(found)] == [
        ("a", 0, 0 if may_resize else 38),
        ("a", 1, 85),
        ("x", 0, 3),
    ]
    assert (found.error_code, found.error_message) == (0, None)


async def test_zero_timeout_rejects_reassignment() -> None:
    """7 for the request and in every row."""
    node = await node_of(topics=[a_topic("a", 2)])
    request = AlterPartitionReassignmentsRequest(topics=TOPICS, timeout_ms=0)

    struck = answer(alter_partition_reassignments.API, request, node, 1)

    assert [struck.error_code, *(row[2] for row in rows_of(struck))] == [7, 7, 7, 7]


ONE = ListPartitionReassignmentsTopics(name="a", partition_indexes=(0, 9))


async def test_no_reassignments_are_in_progress() -> None:
    node = await node_of(allow("alice", DESCRIBE, CLUSTER), topics=[a_topic("a")])

    for topics in (None, (ONE,)):
        request = ListPartitionReassignmentsRequest(topics=topics)
        found = answer(list_partition_reassignments.API, request, node, 0, user="alice")
        assert (found.error_code, found.error_message, found.topics) == (0, None, ())


ASSIGNED = ((1, 7), (7, 1), (7, 8))
"""The preferred broker lives; another one does; none does."""


async def world() -> ANode:
    """Return a node, whose id is 1, with a topic on brokers that are there and not."""
    return await node_of(topics=[a_topic("a", 3, replication_factor=2, assignments=ASSIGNED)])


def elections_of(response: Any) -> list[tuple[str, int, int]]:
    """Return topic, partition and code of each row."""
    return [
        (each.topic, row.partition_id, row.error_code)
        for each in response.replica_election_results
        for row in each.partition_result
    ]


@pytest.mark.parametrize(("kind", "codes"), [(0, [84, 80, 80]), (1, [84, 84, 83])])
async def test_leader_election_is_not_needed(kind: int, codes: list[int]) -> None:
    asked = TopicPartitions(topic="a", partitions=(0, 1, 2))
    request = ElectLeadersRequest(topic_partitions=(asked,), election_type=kind)

    found = answer(elect_leaders.API, request, await world(), 2)

    assert [row[2] for row in elections_of(found)] == codes
    texts = {
        80: "The preferred leader was not available.",
        83: "Eligible topic partition leaders are not available.",
        84: "Leader election not needed for topic partition.",
    }
    assert [row.error_message for row in found.replica_election_results[0].partition_result] == [
        texts[code] for code in codes
    ]
    assert found.error_code == 0


async def test_election_for_all_partitions() -> None:
    node = await world()

    found = answer(elect_leaders.API, ElectLeadersRequest(topic_partitions=None), node, 1)

    assert elections_of(found) == [("a", 1, 80), ("a", 2, 80)]


async def test_unknown_election_type_is_rejected() -> None:
    """42 for the whole request."""
    request = ElectLeadersRequest(topic_partitions=(), election_type=2)

    assert answer(elect_leaders.API, request, await world(), 2).error_code == 42


@pytest.mark.parametrize("version", [1, 3, 5])
async def test_log_dirs_are_described(version: int) -> None:
    """There is one, with every partition; a refusal has a code from version 3 on."""
    node = await node_of(allow("alice", DESCRIBE, CLUSTER), topics=[a_topic("a", partitions=2)])
    request = DescribeLogDirsRequest(topics=None)

    shown = answer(describe_log_dirs.API, request, node, version, user="alice")
    refused = answer(describe_log_dirs.API, request, node, version, user="bob")

    (folder,) = shown.results
    assert (shown.error_code, folder.error_code) == (0, 0)
    assert folder.log_dir == str(node.settings[DATA_DIR].absolute())
    assert [
        (topic.name, each.partition_index, each.partition_size, each.offset_lag)
        for topic in folder.topics
        for each in topic.partitions
    ] == [("a", 0, 0, 0), ("a", 1, 0, 0)]
    assert (refused.error_code, refused.results) == (31 if version >= 3 else 0, ())


async def test_replicas_cannot_change_log_dirs() -> None:
    topics = [a_topic("a"), a_topic("b", assignments=((7,),)), a_topic("c")]
    node = await node_of(allow("alice", AclOperation.ALTER, CLUSTER), topics=topics)
    here = str(node.settings[DATA_DIR].absolute())
    places = ((here, "a", (0, 1)), (here, "b", (0,)), ("/other", "c", (0,)))
    request = AlterReplicaLogDirsRequest(
        dirs=tuple(
            AlterReplicaLogDir(
                path=path, topics=(AlterReplicaLogDirTopic(name=name, partitions=indexes),)
            )
            for path, name, indexes in places
        )
    )

    response = answer(alter_replica_log_dirs.API, request, node, 2, user="alice")

    rows = [row.error_code for topic in response.results for row in topic.partitions]
    assert rows == [0, 3, 6, 57]
