"""OffsetDelete: rights, places, the group, and nodes that are not the coordinator."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.api.node import Update
from doorkeeper.errors import ErrorCode
from doorkeeper.handlers.offset_delete import API
from doorkeeper_wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from testkit.acl import READ, allow, group, topic
from testkit.nodes import ANode, a_topic, answer, arguments, node_of, on_the_wire, outcome

DELETE = AclOperation.DELETE


def asking(*rows: tuple[str, tuple[int, ...]], group_id: str = "g") -> OffsetDeleteRequest:
    topics = tuple(
        OffsetDeleteRequestTopic(
            name=name,
            partitions=tuple(OffsetDeleteRequestPartition(partition_index=i) for i in indexes),
        )
        for name, indexes in rows
    )
    return OffsetDeleteRequest(group_id=group_id, topics=topics)


def rows_of(response: Any) -> list[tuple[str, int, int]]:
    """Return topic, partition and code of each row."""
    return [
        (found.name, row.partition_index, row.error_code)
        for found in on_the_wire(response, 0).topics
        for row in found.partitions
    ]


async def world(*bindings: Any) -> ANode:
    return await node_of(*bindings, topics=[a_topic("a", 2), a_topic("b")])


async def test_refused_places_come_first() -> None:
    """Denied topics, absent ones, and absent partitions; the others are tried."""
    node = await world(allow("alice", DELETE, group("g")), allow("alice", READ, topic("a")))
    asked = asking(("a", (0, 7)), ("b", (0,)), ("absent", (0,)))

    made = outcome(API, asked, node, 0, user="alice")

    assert isinstance(made, Update)
    assert arguments(made)[1:] == ("g", [("a", 0)])
    assert rows_of(made.respond([ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC])) == [
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
async def test_errors_of_the_whole_request(
    user: str, group_id: str, coordinator: int, code: int
) -> None:
    """They have no rows."""
    node = await world()
    node.coordinator_id = coordinator

    found = answer(API, asking(("a", (0,)), group_id=group_id), node, 0, user=user)

    assert (found.error_code, found.topics) == (code, ())
