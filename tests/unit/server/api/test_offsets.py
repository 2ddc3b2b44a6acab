"""OffsetCommit and OffsetDelete: permissions, partitions, and nodes that do not coordinate."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import AclOperation
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api import offset_commit, offset_delete
from doorkeeper.server.api.node import Update
from doorkeeper.server.resources.groups import Committer, Offsets
from doorkeeper.server.schema.declared import OFFSET, StoredOffset
from doorkeeper.server.state.state import EMPTY
from doorkeeper_wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from doorkeeper_wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from testkit.acl import READ, allow, group, topic
from testkit.memory_logs import LogServices, memory_log
from testkit.nodes import ANode, a_topic, answer, arguments, node_of, on_the_wire, outcome
from testkit.plans import planned

A, B = a_topic("a", 2), a_topic("b")


def asking(*rows: tuple[str, int], **fields: Any) -> OffsetCommitRequest:
    """Return a request of places, each in a topic of its own."""
    ids = {"a": A.topic_id, "b": B.topic_id}
    topics = tuple(
        OffsetCommitRequestTopic(
            name=name,
            topic_id=ids.get(name, b"?" * 16),
            partitions=(
                OffsetCommitRequestPartition(
                    partition_index=index, committed_offset=5, committed_metadata=None
                ),
            ),
        )
        for name, index in rows
    )
    return OffsetCommitRequest(group_id="g", topics=topics, **fields)


def rows_of(response: Any, version: int = 8) -> list[tuple[str, int, int]]:
    """Return topic, partition and code of each row."""
    return [
        (found.name, row.partition_index, row.error_code)
        for found in on_the_wire(response, version).topics
        for row in found.partitions
    ]


async def world(*bindings: Any) -> ANode:
    return await node_of(*bindings, topics=[A, B])


@pytest.mark.parametrize("version", [2, 9, 10])
async def test_offsets_are_committed(version: int) -> None:
    node = await world()
    member = {"generation_id_or_member_epoch": 3, "member_id": "m"}

    made = outcome(offset_commit.API, asking(("a", 1), ("b", 0), **member), node, version)

    assert isinstance(made, Update)
    by, rows = arguments(made)[0].args
    assert by == Committer("m", None, 3, version)
    assert rows == [
        StoredOffset("g", "a-1", A.topic_id, 5, -1, ""),
        StoredOffset("g", "b-0", B.topic_id, 5, -1, ""),
    ]
    found = on_the_wire(made.respond([ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]), version)
    assert [each.partitions[0].error_code for each in found.topics] == [0, 25]
    keys = [each.topic_id if version >= 10 else each.name for each in found.topics]
    assert keys == ([A.topic_id, B.topic_id] if version >= 10 else ["a", "b"])


async def test_group_permission_is_checked_first() -> None:
    """Without READ on it 30 in every row, and no topic is asked about."""
    node = await world(allow("alice", READ, topic("a")))

    found = answer(offset_commit.API, asking(("a", 0), ("absent", 0)), node, 8, user="alice")

    assert rows_of(found) == [("a", 0, 30), ("absent", 0, 30)]
    assert node.lines() == ["INFO Denied READ Group:LITERAL:g 1"]


async def test_denied_partitions_come_first() -> None:
    node = await world(allow("alice", READ, group("g")), allow("alice", READ, topic("a")))
    asked = asking(("a", 0), ("b", 0), ("a", 2), ("absent", 0), ("a", -1), ("a", 1))

    made = outcome(offset_commit.API, asked, node, 8, user="alice")

    assert [row.partition for row in arguments(made)[0].args[1]] == ["a-0", "a-1"]
    assert rows_of(made.respond([ErrorCode.NONE] * 2)) == [
        ("b", 0, 29),
        ("a", 2, 3),
        ("a", -1, 3),
        ("a", 0, 0),
        ("a", 1, 0),
        ("absent", 0, 29),
    ]
    assert node.lines()[1:] == [
        "DEBUG Allowed READ Topic:LITERAL:a 4",
        "INFO Denied READ Topic:LITERAL:b 1",
        "INFO Denied READ Topic:LITERAL:absent 1",
    ]


async def test_unknown_ids() -> None:
    """100, also for the id of nothing; no topic is asked about."""
    node = await world(allow("alice", READ, group("g")))

    found = answer(offset_commit.API, asking(("x", 0)), node, 10, user="alice")

    assert rows_of(found, 10) == [("", 0, 100)]
    assert node.lines() == ["DEBUG Allowed READ Group:LITERAL:g 1"]


async def test_other_nodes_are_not_the_coordinator() -> None:
    """16; what is refused before has its own code."""
    node = await world()
    node.coordinator_id = 2

    assert rows_of(answer(offset_commit.API, asking(("a", 0), ("a", 9)), node, 8)) == [
        ("a", 9, 3),
        ("a", 0, 16),
    ]


async def test_failed_commit_sets_each_row() -> None:
    node = await world()
    made = outcome(
        offset_commit.API, asking(("a", 0), ("b", 7), generation_id_or_member_epoch=4), node, 8
    )
    async with memory_log() as log:
        services: Any = LogServices(log)

        errors = await made.apply(services)

    assert rows_of(made.respond(errors)) == [("b", 7, 3), ("a", 0, 22)]
    assert rows_of(
        offset_commit.API.refuse(asking(("a", 0)), 8, ApiError(ErrorCode.REQUEST_TIMED_OUT))
    ) == [("a", 0, 7)]


DELETE = AclOperation.DELETE


def deletion_request(
    *rows: tuple[str, tuple[int, ...]], group_id: str = "g"
) -> OffsetDeleteRequest:
    topics = tuple(
        OffsetDeleteRequestTopic(
            name=name,
            partitions=tuple(OffsetDeleteRequestPartition(partition_index=i) for i in indexes),
        )
        for name, indexes in rows
    )
    return OffsetDeleteRequest(group_id=group_id, topics=topics)


def deletion_rows(response: Any) -> list[tuple[str, int, int]]:
    """Return topic, partition and code of each row."""
    return [
        (found.name, row.partition_index, row.error_code)
        for found in on_the_wire(response, 0).topics
        for row in found.partitions
    ]


async def node_with_topics(*bindings: Any) -> ANode:
    return await node_of(*bindings, topics=[a_topic("a", 2), a_topic("b")])


async def test_denied_deletions_come_first() -> None:
    node = await node_with_topics(
        allow("alice", DELETE, group("g")), allow("alice", READ, topic("a"))
    )
    asked = deletion_request(("a", (0, 7)), ("b", (0,)), ("absent", (0,)))

    made = outcome(offset_delete.API, asked, node, 0, user="alice")

    assert isinstance(made, Update)
    offset = StoredOffset("g", "a-0", A.topic_id, 5, -1, "")
    state = replace(EMPTY, offsets=Offsets().with_changes([offset], ()))
    change, _ = await planned(made, state)
    assert [row.partition for row in change[OFFSET].deleted] == ["a-0"]
    assert deletion_rows(made.respond([ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC])) == [
        ("a", 7, 3),
        ("a", 0, 86),
        ("b", 0, 29),
        ("absent", 0, 29),
    ]
    assert node.lines()[0] == "DEBUG Allowed DELETE Group:LITERAL:g 1"


@pytest.mark.parametrize(
    ("user", "group_id", "coordinator", "code"),
    [("alice", "g", 1, 30), ("admin", "", 1, 24), ("admin", "g", 2, 16), ("admin", "", 2, 24)],
)
async def test_offset_deletion_rejections(
    user: str, group_id: str, coordinator: int, code: int
) -> None:
    node = await node_with_topics()
    node.coordinator_id = coordinator

    found = answer(
        offset_delete.API, deletion_request(("a", (0,)), group_id=group_id), node, 0, user=user
    )

    assert (found.error_code, found.topics) == (code, ())
