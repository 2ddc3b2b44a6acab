"""DeleteTopics: rights, checks, rows."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import AclOperation
from doorkeeper.server.api.delete_topics import API
from doorkeeper.server.api.node import Update
from doorkeeper.server.schema.declared import TOPIC
from doorkeeper.server.state.state import EMPTY
from doorkeeper_wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from testkit.acl import DESCRIBE, allow, topic
from testkit.nodes import CLUSTER, ANode, a_topic, answer, node_of, on_the_wire, outcome
from testkit.plans import planned

DELETE = AclOperation.DELETE
UNKNOWN_TOPIC = "This server does not host this topic-partition."
UNKNOWN_ID = "This server does not host this topic ID."
REFUSED = "Topic authorization failed."
ORDERS, INVOICES = a_topic("orders"), a_topic("invoices")


def asking(*topics: str | bytes | DeleteTopicState, timeout_ms: int = 5000) -> DeleteTopicsRequest:
    """Return a request of version 6: texts are names, bytes are ids."""
    states = tuple(
        each
        if isinstance(each, DeleteTopicState)
        else DeleteTopicState(name=each)
        if isinstance(each, str)
        else DeleteTopicState(topic_id=each)
        for each in topics
    )
    return DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms)


def rows_of(response: Any, version: int = 6) -> list[tuple[Any, ...]]:
    """Return name, id, code and text of each row, as they arrive."""
    rows = on_the_wire(response, version).responses
    return [(row.name, row.topic_id, row.error_code, row.error_message) for row in rows]


async def world(*bindings: Any, **fields: Any) -> ANode:
    """Return a node with two topics."""
    return await node_of(*bindings, topics=[ORDERS, INVOICES], **fields)


async def test_topics_are_deleted_by_name_and_id() -> None:
    node = await world()

    made = outcome(API, asking("orders", INVOICES.topic_id), node, 6)

    assert isinstance(made, Update)
    change, errors = await planned(made, replace(EMPTY, topics=node.topics))
    assert [row.name for row in change[TOPIC].deleted] == ["invoices", "orders"]
    assert rows_of(made.respond(errors)) == [
        ("invoices", INVOICES.topic_id, 0, None),
        ("orders", ORDERS.topic_id, 0, None),
    ]


async def test_invalid_deletions_are_rejected() -> None:
    """Nothing, both at once, and what occurs twice: 42 with the controller's texts."""
    node = await world()
    both = DeleteTopicState(name="orders", topic_id=b"\7" * 16)
    request = asking(DeleteTopicState(), both, "d", "d", b"\1" * 16, b"\1" * 16, b"\2" * 16)

    refused = answer(API, request, node, 6)

    assert rows_of(refused) == [
        (None, bytes(16), 42, "Neither topic name nor id were specified."),
        ("orders", b"\7" * 16, 42, "You may not specify both topic name and topic id."),
        ("d", bytes(16), 42, "Duplicate topic name."),
        (None, b"\1" * 16, 42, "Duplicate topic id."),
        (None, b"\2" * 16, 100, UNKNOWN_ID),
    ]


async def test_topic_named_by_name_and_id_is_rejected_once() -> None:
    node = await world()

    refused = answer(API, asking("orders", ORDERS.topic_id), node, 6)

    text = "The provided topic name maps to an ID that was already supplied."
    assert rows_of(refused) == [("orders", ORDERS.topic_id, 42, text)]


async def test_delete_is_required_on_cluster_or_topic() -> None:
    node = await world(allow("alice", DELETE, topic("orders")), allow("bob", DELETE, CLUSTER))

    by_alice = outcome(API, asking("orders"), node, 6, user="alice")
    of_alice = node.lines()
    by_bob = outcome(API, asking("orders"), node, 6, user="bob")

    for made in (by_alice, by_bob):
        change, _ = await planned(made, replace(EMPTY, topics=node.topics))
        assert [row.name for row in change[TOPIC].deleted] == ["orders"]
    assert of_alice == [
        "TRACE Denied DELETE Cluster:LITERAL:kafka-cluster 1",
        "DEBUG Allowed DESCRIBE Topic:LITERAL:orders 1",
        "DEBUG Allowed DELETE Topic:LITERAL:orders 1",
    ]
    assert node.lines() == ["DEBUG Allowed DELETE Cluster:LITERAL:kafka-cluster 1"]


async def test_names_and_existence_require_describe() -> None:
    """Without DESCRIBE 29 for all, and no name for an id; with it the name, and 3 for none."""
    node = await world(
        *(allow("alice", DESCRIBE, topic(name)) for name in ("orders", "invoices", "nope"))
    )
    request = asking("orders", "nope", INVOICES.topic_id)

    assert rows_of(answer(API, request, node, 6, user="nobody")) == [
        (None, INVOICES.topic_id, 29, REFUSED),
        ("orders", bytes(16), 29, REFUSED),
        ("nope", bytes(16), 29, REFUSED),
    ]
    assert rows_of(answer(API, request, node, 6, user="alice")) == [
        ("invoices", INVOICES.topic_id, 29, REFUSED),
        ("orders", bytes(16), 29, REFUSED),
        ("nope", bytes(16), 3, UNKNOWN_TOPIC),
    ]


@pytest.mark.parametrize(("version", "code"), [(2, 42), (3, 73), (6, 73)])
async def test_topic_deletion_can_be_disabled(version: int, code: int) -> None:
    """Every row has the same code, which is older than it could say before v3."""
    node = await world(properties="delete.topic.enable=false\n")
    request = DeleteTopicsRequest(
        topic_names=("orders",) if version < 6 else (),
        topics=() if version < 6 else (DeleteTopicState(name="orders"),),
        timeout_ms=5000,
    )

    refused = answer(API, request, node, version)

    assert [(row[0], row[2], row[3]) for row in rows_of(refused, version)] == [
        ("orders", code, None)
    ]


async def test_zero_timeout_is_rejected() -> None:
    """7 in every row, after the rights were looked at, also for a caller without rights."""
    node = await world()

    refused = answer(API, asking("orders", "nope", timeout_ms=0), node, 6, user="nobody")

    assert [row[2:] for row in rows_of(refused)] == [(7, None), (7, None)]
    assert "INFO Denied DELETE Topic:LITERAL:orders 1" in node.lines()
