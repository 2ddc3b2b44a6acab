"""Metadata: which topics are told to whom, in which version, and what is created by asking."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acls.model import AclOperation
from doorkeeper.server.api.metadata import API
from doorkeeper.server.api.node import Update
from doorkeeper.server.schema.declared import TOPIC
from doorkeeper_wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponseBroker,
    MetadataResponsePartition,
)
from testkit.acl import DESCRIBE, READ, allow, topic
from testkit.nodes import (
    CLUSTER,
    CLUSTER_ID,
    ANode,
    a_topic,
    answer,
    brokers_of,
    node_of,
    on_the_wire,
    outcome,
)
from testkit.plans import planned

UNASKED = -(2**31)
CREATE = AclOperation.CREATE


def asking(*names: str, **fields: Any) -> MetadataRequest:
    """Return a request for named topics that creates none."""
    topics = tuple(MetadataRequestTopic(name=name) for name in names)
    return MetadataRequest(**{"topics": topics, "allow_auto_topic_creation": False, **fields})


def by_id(*topic_ids: bytes, **fields: Any) -> MetadataRequest:
    """Return a request for topics by their ids."""
    topics = tuple(MetadataRequestTopic(topic_id=each, name=None) for each in topic_ids)
    return asking(**{"topics": topics, **fields})


def codes(answered: Any) -> list[tuple[str | None, int]]:
    """Return name and code of each topic."""
    return [(row.name, row.error_code) for row in answered.topics]


async def world(*bindings: Any, **fields: Any) -> ANode:
    """Return a node with two topics; alice may describe one of them."""
    return await node_of(
        allow("alice", DESCRIBE, topic("orders")),
        *bindings,
        topics=[a_topic("orders", 2), a_topic("invoices")],
        **fields,
    )


@pytest.mark.parametrize("version", [0, 1, 2, 7, 10, 13])
async def test_every_version_returns_nodes_and_partitions(version: int) -> None:
    node = await world()

    answered = answer(API, asking("orders", allow_auto_topic_creation=True), node, version)

    rack = "rack-a" if version >= 1 else None
    assert answered.brokers == (
        MetadataResponseBroker(node_id=1, host="broker.example", port=9092, rack=rack),
    )
    assert answered.cluster_id == (CLUSTER_ID if version >= 2 else None)
    assert answered.controller_id == (1 if version >= 1 else -1)
    (row,) = answered.topics
    assert (row.error_code, row.name) == (0, "orders")
    assert row.partitions == tuple(
        MetadataResponsePartition(
            partition_index=index,
            leader_id=1,
            leader_epoch=0 if version >= 7 else -1,
            replica_nodes=(1,),
            isr_nodes=(1,),
        )
        for index in range(2)
    )
    assert row.topic_id == (a_topic("orders").topic_id if version >= 10 else bytes(16))


@pytest.mark.parametrize("version", [0, 13])
async def test_fenced_node_is_unlisted_and_out_of_sync(version: int) -> None:
    """The next replica leads, and none is error 5; version 0 omits the node everywhere.

    As observed of a cluster of 4.3.1 whose nodes were killed.
    """
    node = await node_of(topics=[a_topic("orders", 2, assignments=((2, 1), (2,)))])
    node.listed = brokers_of(1, fenced=[2])

    answered = answer(API, asking("orders", allow_auto_topic_creation=True), node, version)

    assert [each.node_id for each in answered.brokers] == [1]
    assert [
        (each.error_code, each.leader_id, each.replica_nodes, each.isr_nodes, each.offline_replicas)
        for each in answered.topics[0].partitions
    ] == (
        [(9, 1, (1,), (1,), ()), (5, -1, (), (), ())]
        if version == 0
        else [(0, 1, (2, 1), (1,), (2,)), (5, -1, (2,), (), (2,))]
    )


@pytest.mark.parametrize(
    ("version", "request_", "names"),
    [
        (0, asking(allow_auto_topic_creation=True), ["invoices", "orders"]),
        (1, asking(allow_auto_topic_creation=True), []),
        (1, asking(topics=None, allow_auto_topic_creation=True), ["invoices", "orders"]),
        (13, asking(topics=None), ["invoices", "orders"]),
    ],
)
async def test_all_topics_or_none(
    version: int, request_: MetadataRequest, names: list[str]
) -> None:
    """Version 0 means all by an empty list; later null means all and an empty list none."""
    node = await world()

    assert [row.name for row in answer(API, request_, node, version).topics] == names


async def test_all_topics_excludes_undescribable_topics() -> None:
    node = await world()

    answered = answer(API, asking(topics=None), node, 12, user="alice")

    assert codes(answered) == [("orders", 0)]
    assert node.lines() == [
        "TRACE Denied DESCRIBE Topic:LITERAL:invoices 1",
        "DEBUG Allowed DESCRIBE Topic:LITERAL:orders 1",
    ]


async def test_named_topic_without_describe_is_denied() -> None:
    """29, the name, a zero id, nothing else; each distinct name is asked once."""
    node = await world()

    answered = answer(API, asking("zzz", "invoices", "orders", "orders"), node, 12, user="alice")

    assert codes(answered) == [("orders", 0), ("invoices", 29), ("zzz", 29)]
    assert {row.topic_id for row in answered.topics[1:]} == {bytes(16)}
    assert answered.topics[1].partitions == ()
    assert node.lines() == [
        "INFO Denied DESCRIBE Topic:LITERAL:invoices 1",
        "DEBUG Allowed DESCRIBE Topic:LITERAL:orders 1",
        "INFO Denied DESCRIBE Topic:LITERAL:zzz 1",
    ]


async def test_topics_by_id() -> None:
    """Unknown ids come first with 100; ids that may not be described have 29 and no name."""
    node = await world()
    known, hidden, unknown = a_topic("orders").topic_id, a_topic("invoices").topic_id, b"\1" * 16

    answered = answer(API, by_id(known, hidden, unknown), node, 12, user="alice")

    rows = [(row.name, row.topic_id, row.error_code) for row in answered.topics]
    assert rows == [(None, unknown, 100), ("orders", known, 0), (None, hidden, 29)]


@pytest.mark.parametrize(
    ("version", "asked", "code"),
    [
        (10, MetadataRequestTopic(name=None), 42),
        (11, MetadataRequestTopic(name="a", topic_id=b"\1" * 16), 42),
        (12, MetadataRequestTopic(name=None), -1),
        (13, MetadataRequestTopic(name=None), -1),
    ],
)
async def test_malformed_topics_fail_every_row(
    version: int, asked: MetadataRequestTopic, code: int
) -> None:
    """A null name or an id before v12 is 42, neither of them later -1; from v13 also at the top."""
    node = await world()

    refused = answer(API, asking(topics=(asked,)), node, version)

    assert codes(refused) == [(asked.name or "", code)]
    assert refused.topics[0].topic_id == asked.topic_id
    assert (refused.brokers, refused.cluster_id, refused.controller_id) == ((), None, -1)
    assert refused.error_code == (-1 if version == 13 else 0)


async def test_missing_topics_follow_existing_ones() -> None:
    """3 for a legal name, 17 for an illegal one; internal names say so."""
    node = await world()

    answered = answer(API, asking("a b", "__consumer_offsets", "aa", "orders", ""), node, 12)

    assert codes(answered) == [
        ("orders", 0),
        ("", 17),
        ("__consumer_offsets", 3),
        ("a b", 17),
        ("aa", 3),
    ]
    assert [row.name for row in answered.topics if row.is_internal] == ["__consumer_offsets"]


async def test_authorized_operations_of_describable_topics() -> None:
    node = await world(allow("alice", READ, topic("missing")))
    request = asking("orders", "missing", "hidden", include_topic_authorized_operations=True)

    answered = answer(API, request, node, 8, user="alice")

    masks = {row.name: row.topic_authorized_operations for row in answered.topics}
    assert masks == {
        "orders": 1 << DESCRIBE,
        "missing": 1 << READ | 1 << DESCRIBE,
        "hidden": UNASKED,
    }
    assert {line.split()[0] for line in node.lines()[3:]} == {"TRACE"}
    unasked = answer(API, asking("orders"), node, 8, user="alice")
    assert unasked.topics[0].topic_authorized_operations == UNASKED


async def test_missing_topic_is_auto_created() -> None:
    node = await world(properties="num.partitions=4\n")

    made = outcome(API, asking("new", "a b", "orders", allow_auto_topic_creation=True), node, 4)

    assert isinstance(made, Update)
    assert not made.wait
    change, _ = await planned(made)
    assert [(each.name, each.partitions) for each in change[TOPIC].set] == [("new", 4)]
    assert codes(on_the_wire(made.respond(None), 4)) == [("orders", 0), ("a b", 17), ("new", 3)]


@pytest.mark.parametrize(
    ("properties", "fields"),
    [
        ("auto.create.topics.enable=false\n", {"allow_auto_topic_creation": True}),
        ("", {"allow_auto_topic_creation": False}),
    ],
)
async def test_auto_creation_requires_client_and_server(
    properties: str, fields: dict[str, Any]
) -> None:
    """The server and, from v4 on, the client."""
    node = await world(properties=properties)

    assert codes(answer(API, asking("new", **fields), node, 9)) == [("new", 3)]


@pytest.mark.parametrize(
    ("binding", "created"),
    [
        (allow("alice", CREATE, CLUSTER), ["new"]),
        (allow("alice", CREATE, topic("new")), ["new"]),
        (allow("alice", READ, topic("new")), []),
    ],
)
async def test_auto_creation_requires_create(binding: Any, created: list[str]) -> None:
    """On the cluster, asked quietly, else on the topic; without it 29 and nothing is created."""
    node = await world(binding, allow("alice", DESCRIBE, topic("new")))
    request = asking("new", allow_auto_topic_creation=True)

    made = outcome(API, request, node, 9, user="alice")

    if created:
        change, _ = await planned(made)
        assert [each.name for each in change[TOPIC].set] == created
    else:
        assert codes(on_the_wire(made, 9)) == [("new", 29)]
        assert node.lines()[1:] == [
            "TRACE Denied CREATE Cluster:LITERAL:kafka-cluster 1",
            "INFO Denied CREATE Topic:LITERAL:new 1",
        ]
