"""CreateTopics and CreatePartitions: permissions, checks, rows."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import AclOperation
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api import create_partitions, create_topics
from doorkeeper.server.api.node import Update
from doorkeeper.server.resources.settings.topic import effective
from doorkeeper.server.schema.declared import TOPIC
from doorkeeper.server.state.state import EMPTY
from doorkeeper_wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from doorkeeper_wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from testkit.acl import allow, topic
from testkit.nodes import CLUSTER, ANode, a_topic, answer, node_of, on_the_wire, outcome
from testkit.plans import planned

CREATE, DESCRIBE_CONFIGS = AclOperation.CREATE, AclOperation.DESCRIBE_CONFIGS


def wanting(name: str, partitions: int = 1, factor: int = 1, **configs: str) -> CreatableTopic:
    """Return a row of a request; dots in settings are written ``__``."""
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=tuple(
            CreatableTopicConfig(name=key.replace("__", "."), value=value)
            for key, value in configs.items()
        ),
    )


def asking(*topics: CreatableTopic, **fields: Any) -> CreateTopicsRequest:
    """Return a request with a time-out that does not strike."""
    return CreateTopicsRequest(**{"topics": topics, "timeout_ms": 5000, **fields})


def rows_of(response: Any, version: int = 7) -> list[tuple[str, int, str | None]]:
    """Return name, code and text of each row, as they arrive."""
    rows = on_the_wire(response, version).topics
    return [(row.name, row.error_code, row.error_message) for row in rows]


async def test_topic_is_stored_as_requested() -> None:
    node = await node_of()

    made = outcome(create_topics.API, asking(wanting("orders", 3, retention__ms=" 5 ")), node, 7)

    assert isinstance(made, Update)
    assert made.wait
    change, errors = await planned(made)
    (stored,) = change[TOPIC].set
    assert (stored.name, stored.partitions, stored.replication_factor) == ("orders", 3, 1)
    assert stored.configs == {"retention.ms": " 5 "}
    (row,) = on_the_wire(made.respond(errors), 7).topics
    assert (row.name, row.error_code, row.error_message) == ("orders", 0, None)
    assert row.topic_id == stored.topic_id
    assert (row.num_partitions, row.replication_factor) == (3, 1)
    assert [config.name for config in row.configs] == sorted(
        effective(stored.configs, node.settings.values_of)
    )
    given = next(config for config in row.configs if config.name == "retention.ms")
    assert (given.value, given.config_source) == (" 5 ", 1)
    default = next(config for config in row.configs if config.name == "segment.bytes")
    assert (default.value, default.config_source) == ("1073741824", 5)


async def test_create_is_required_on_cluster_or_topic() -> None:
    """The cluster is asked quietly, and then no topic; others get 29, after those to be created."""
    node = await node_of(allow("alice", CREATE, topic("b")), allow("bob", CREATE, CLUSTER))

    made = outcome(create_topics.API, asking(wanting("a"), wanting("b")), node, 7, user="alice")
    of_alice = node.lines()
    by_bob = outcome(create_topics.API, asking(wanting("a")), node, 7, user="bob")

    assert rows_of(made.respond([None])) == [("b", 0, None), ("a", 29, "Authorization failed.")]
    assert of_alice[:3] == [
        "TRACE Denied CREATE Cluster:LITERAL:kafka-cluster 1",
        "INFO Denied CREATE Topic:LITERAL:a 1",
        "DEBUG Allowed CREATE Topic:LITERAL:b 1",
    ]
    assert node.lines() == [
        "DEBUG Allowed CREATE Cluster:LITERAL:kafka-cluster 1",
        "TRACE Denied DESCRIBE_CONFIGS Topic:LITERAL:a 1",
    ]
    (row,) = on_the_wire(by_bob.respond([None]), 7).topics
    assert (row.error_code, row.topic_config_error_code) == (0, 29), "settings are not shown"
    assert (row.num_partitions, row.replication_factor, row.configs) == (-1, -1, ())


async def test_invalid_topics_are_rejected() -> None:
    node = await node_of(topics=[a_topic("a.b")])
    names = ("d", "d", "__cluster_metadata", "a.b", "a_b")

    refused = answer(create_topics.API, asking(*(wanting(name) for name in names)), node, 7)

    assert sorted(rows_of(refused)) == [
        ("__cluster_metadata", 42, "Creation of internal topic __cluster_metadata is prohibited."),
        ("a.b", 36, "Topic 'a.b' already exists."),
        ("a_b", 17, "Topic 'a_b' collides with existing topic: a.b"),
        ("d", 42, "Duplicate topic name."),
    ]


async def test_zero_timeout_rejects_creation() -> None:
    """7 in every row after the permissions; where no row would be created each keeps its error."""
    node = await node_of()
    topics = (wanting("a"), wanting("d"), wanting("d"))

    struck = answer(create_topics.API, asking(*topics, timeout_ms=0), node, 7)
    denied = answer(create_topics.API, asking(*topics, timeout_ms=0), node, 7, user="nobody")

    assert rows_of(struck) == [("a", 7, None), ("d", 7, None), ("d", 7, None)]
    assert sorted(row[1] for row in rows_of(denied)) == [29, 42]


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ((10_001,), "Excessively large number of partitions per request."),
        ((5_000, 5_001), "Excessively large number of partitions per request."),
        ((10_000,), "Unable to perform excessively large batch operation."),
    ],
)
async def test_excessive_request_is_rejected(sizes: tuple[int, ...], text: str) -> None:
    """44 in every row: partitions are counted, then the records of a controller."""
    node = await node_of()
    topics = [wanting(f"t{index}", size) for index, size in enumerate(sizes)]

    refused = answer(create_topics.API, asking(*topics), node, 7)

    assert rows_of(refused) == [(each.name, 44, text) for each in topics]


async def test_result_of_the_change_is_in_the_rows() -> None:
    node = await node_of()
    made = outcome(create_topics.API, asking(wanting("a b"), wanting("a"), wanting("b")), node, 7)

    finished = made.respond([ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "disk full"), None])

    assert [row[:2] for row in rows_of(finished)] == [("a b", 17), ("a", 56), ("b", 0)]


ALTER = AclOperation.ALTER


def partitions_request(*topics: tuple[str, int], **fields: Any) -> CreatePartitionsRequest:
    """Return a request for names with their counts, with a time-out that does not strike."""
    rows = tuple(
        CreatePartitionsTopic(name=name, count=count, assignments=None) for name, count in topics
    )
    return CreatePartitionsRequest(**{"topics": rows, "timeout_ms": 5000, **fields})


def partition_rows(response: Any, version: int = 3) -> list[tuple[str, int, str | None]]:
    """Return name, code and text of each row, as they arrive."""
    rows = on_the_wire(response, version).results
    return [(row.name, row.error_code, row.error_message) for row in rows]


async def world(*bindings: Any) -> ANode:
    """Return a node with two topics."""
    return await node_of(*bindings, topics=[a_topic("a", 2), a_topic("b")])


@pytest.mark.parametrize("version", [0, 3])
async def test_partitions_are_created(version: int) -> None:
    node = await world()
    rows = (
        CreatePartitionsTopic(name="a", count=3, assignments=None),
        CreatePartitionsTopic(
            name="b", count=2, assignments=(CreatePartitionsAssignment(broker_ids=(9,)),)
        ),
    )

    made = outcome(
        create_partitions.API, CreatePartitionsRequest(topics=rows, timeout_ms=9), node, version
    )

    assert isinstance(made, Update)
    change, errors = await planned(made, replace(EMPTY, topics=node.topics))
    assert [(row.name, row.partitions) for row in change[TOPIC].set] == [("a", 3)]
    text = "The manual partition assignment includes broker 9, but no such broker is registered."
    assert partition_rows(made.respond(errors), version) == [("a", 0, None), ("b", 39, text)]


async def test_create_partitions_requires_alter() -> None:
    """29 whether the topic exists or not; a name that occurs twice is refused once, unasked."""
    node = await world(allow("alice", ALTER, topic("a")))

    request = partitions_request(("b", 5), ("a", 5), ("x", 5), ("y", 1), ("y", 2))
    made = outcome(create_partitions.API, request, node, 3, user="alice")

    assert sorted(partition_rows(made.respond([None]))) == [
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


async def test_create_partitions_validate_only() -> None:
    """The answer is that of the change."""
    node = await world()

    found = answer(
        create_partitions.API,
        partitions_request(("a", 3), ("b", 1), ("x", 1), validate_only=True),
        node,
        3,
    )

    assert partition_rows(found) == [
        ("a", 0, None),
        ("b", 37, "Topic already has 1 partition(s)."),
        ("x", 3, None),
    ]


async def test_zero_timeout_rejects_create_partitions() -> None:
    """7 in every row, unless none is left to be tried."""
    node = await world()

    struck = answer(
        create_partitions.API, partitions_request(("a", 3), ("b", 2), timeout_ms=0), node, 3
    )
    refused = answer(
        create_partitions.API, partitions_request(("a", 3), timeout_ms=0), node, 3, user="alice"
    )

    assert [row[1] for row in partition_rows(struck)] == [7, 7]
    assert partition_rows(refused) == [("a", 29, None)]
