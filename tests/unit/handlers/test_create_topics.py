"""CreateTopics: rights, checks, rows."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.api.node import Update
from doorkeeper.configs.topic import effective
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.handlers.create_topics import API
from doorkeeper_wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from testkit.acl import allow, topic
from testkit.nodes import (
    CLUSTER,
    a_topic,
    answer,
    arguments,
    node_of,
    on_the_wire,
    outcome,
)

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


async def test_a_topic_is_stored_with_what_was_given() -> None:
    """Name, partitions, replication factor, settings, and a new id, which the answer tells."""
    node = await node_of()

    made = outcome(API, asking(wanting("orders", 3, retention__ms=" 5 ")), node, 7)

    assert isinstance(made, Update)
    assert made.wait
    (stored,) = arguments(made)[1]
    assert (stored.name, stored.partitions, stored.replication_factor) == ("orders", 3, 1)
    assert stored.configs == {"retention.ms": " 5 "}
    (row,) = on_the_wire(made.respond([None]), 7).topics
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


async def test_create_on_the_cluster_or_on_the_topic() -> None:
    """The cluster is asked quietly, and then no topic; others get 29, after those to be created."""
    node = await node_of(allow("alice", CREATE, topic("b")), allow("bob", CREATE, CLUSTER))

    made = outcome(API, asking(wanting("a"), wanting("b")), node, 7, user="alice")
    of_alice = node.lines()
    by_bob = outcome(API, asking(wanting("a")), node, 7, user="bob")

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


async def test_topics_that_cannot_be_created() -> None:
    """Duplicates, the controllers' log, existing and declared topics, and names that collide."""
    node = await node_of(topics=[a_topic("a.b"), a_topic("declared", origin="/etc/c.yaml")])
    names = ("d", "d", "__cluster_metadata", "a.b", "declared", "a_b")

    refused = answer(API, asking(*(wanting(name) for name in names)), node, 7)

    assert sorted(rows_of(refused)) == [
        ("__cluster_metadata", 42, "Creation of internal topic __cluster_metadata is prohibited."),
        ("a.b", 36, "Topic 'a.b' already exists."),
        ("a_b", 17, "Topic 'a_b' collides with existing topic: a.b"),
        ("d", 42, "Duplicate topic name."),
        ("declared", 36, "Topic 'declared' already exists: it is declared in /etc/c.yaml."),
    ]


async def test_a_timeout_of_zero_refuses_what_would_be_created() -> None:
    """7 in every row after the permissions; where no row would be created each keeps its error."""
    node = await node_of()
    topics = (wanting("a"), wanting("d"), wanting("d"))

    struck = answer(API, asking(*topics, timeout_ms=0), node, 7)
    denied = answer(API, asking(*topics, timeout_ms=0), node, 7, user="nobody")

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
async def test_too_much_at_once_refuses_everything(sizes: tuple[int, ...], text: str) -> None:
    """44 in every row: partitions are counted, then the records of a controller."""
    node = await node_of()
    topics = [wanting(f"t{index}", size) for index, size in enumerate(sizes)]

    refused = answer(API, asking(*topics), node, 7)

    assert rows_of(refused) == [(each.name, 44, text) for each in topics]


async def test_what_became_of_the_change_stands_in_the_rows() -> None:
    """A topic that somebody else made meanwhile, or that could not be stored, is an error."""
    node = await node_of()
    made = outcome(API, asking(wanting("a b"), wanting("a"), wanting("b")), node, 7)

    finished = made.respond([ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "disk full"), None])

    assert [row[:2] for row in rows_of(finished)] == [("a b", 17), ("a", 56), ("b", 0)]
