"""CreatePartitions: rights, checks, rows."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.api.node import Update
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.handlers.create_partitions import API
from doorkeeper.topics.partitions import WantedPartitions
from doorkeeper_wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from testkit.acl import allow, topic
from testkit.nodes import ANode, a_topic, answer, arguments, node_of, on_the_wire, outcome

ALTER = AclOperation.ALTER


def asking(*topics: tuple[str, int], **fields: Any) -> CreatePartitionsRequest:
    """Return a request for names with their counts, with a time-out that does not strike."""
    rows = tuple(
        CreatePartitionsTopic(name=name, count=count, assignments=None) for name, count in topics
    )
    return CreatePartitionsRequest(**{"topics": rows, "timeout_ms": 5000, **fields})


def rows_of(response: Any, version: int = 3) -> list[tuple[str, int, str | None]]:
    """Return name, code and text of each row, as they arrive."""
    rows = on_the_wire(response, version).results
    return [(row.name, row.error_code, row.error_message) for row in rows]


async def world(*bindings: Any) -> ANode:
    """Return a node with two topics."""
    return await node_of(*bindings, topics=[a_topic("a", 2), a_topic("b")])


@pytest.mark.parametrize("version", [0, 3])
async def test_partitions_are_asked_for(version: int) -> None:
    """The update has the counts and the brokers; its rows say what became of each."""
    node = await world()
    rows = (
        CreatePartitionsTopic(name="a", count=3, assignments=None),
        CreatePartitionsTopic(
            name="b", count=2, assignments=(CreatePartitionsAssignment(broker_ids=(1,)),)
        ),
    )

    made = outcome(API, CreatePartitionsRequest(topics=rows, timeout_ms=9), node, version)

    assert isinstance(made, Update)
    assert arguments(made)[1:] == (
        [WantedPartitions("a", 3), WantedPartitions("b", 2, ((1,),))],
        node.listed,
    )
    fault = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "disk full")
    assert rows_of(made.respond([None, fault]), version) == [
        ("a", 0, None),
        ("b", 56, "disk full"),
    ]


async def test_a_caller_needs_alter_on_the_topic() -> None:
    """29 whether the topic exists or not; a name that occurs twice is refused once, unasked."""
    node = await world(allow("alice", ALTER, topic("a")))

    request = asking(("b", 5), ("a", 5), ("x", 5), ("y", 1), ("y", 2))
    made = outcome(API, request, node, 3, user="alice")

    assert sorted(rows_of(made.respond([None]))) == [
        ("a", 0, None),
        ("b", 29, None),
        ("x", 29, None),
        ("y", 42, "Duplicate topic name."),
    ]
    assert node.lines() == [
        "INFO Denied ALTER Topic:LITERAL:b 1",
        "DEBUG Allowed ALTER Topic:LITERAL:a 1",
        "INFO Denied ALTER Topic:LITERAL:x 1",
    ]


async def test_validation_changes_nothing() -> None:
    """The answer is that of the change."""
    node = await world()

    found = answer(API, asking(("a", 3), ("b", 1), ("x", 1), validate_only=True), node, 3)

    assert rows_of(found) == [
        ("a", 0, None),
        ("b", 37, "Topic already has 1 partition(s)."),
        ("x", 3, None),
    ]


async def test_a_timeout_of_nothing_strikes() -> None:
    """7 in every row, unless none is left to be tried."""
    node = await world()

    struck = answer(API, asking(("a", 3), ("b", 2), timeout_ms=0), node, 3)
    refused = answer(API, asking(("a", 3), timeout_ms=0), node, 3, user="alice")

    assert [row[1] for row in rows_of(struck)] == [7, 7]
    assert rows_of(refused) == [("a", 29, None)]
