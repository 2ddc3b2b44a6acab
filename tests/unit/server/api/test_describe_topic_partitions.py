"""DescribeTopicPartitions: pages, cursors, masks, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.server.api.describe_topic_partitions import API
from doorkeeper_wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from testkit.acl import DESCRIBE, allow, topic
from testkit.nodes import ANode, a_topic, answer, node_of


def asking(
    *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsRequest:
    """Return a request; no names means all topics."""
    return DescribeTopicPartitionsRequest(
        topics=tuple(TopicRequest(name=name) for name in names),
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )


def pages(answered: Any) -> list[tuple[str | None, int, list[int]]]:
    """Return name, code and partitions of each topic."""
    return [
        (row.name, row.error_code, [each.partition_index for each in row.partitions])
        for row in answered.topics
    ]


def cursor_of(answered: Any) -> tuple[str, int] | None:
    """Return where the next page begins."""
    cursor = answered.next_cursor
    return None if cursor is None else (cursor.topic_name, cursor.partition_index)


async def world(*bindings: Any, **fields: Any) -> ANode:
    """Return a node with topics of 1, 3 and 2 partitions."""
    topics = [a_topic("a"), a_topic("b", 3), a_topic("c", 2)]
    return await node_of(*bindings, topics=topics, **fields)


async def test_empty_list_means_all_topics() -> None:
    node = await world(allow("alice", DESCRIBE, topic("b")))

    answered = answer(API, asking(), node, 0, user="alice")

    assert pages(answered) == [("b", 0, [0, 1, 2])]
    assert answered.topics[0].topic_authorized_operations == 1 << DESCRIBE
    assert [line for line in node.lines() if not line.startswith("TRACE")] == [
        "INFO Denied DESCRIBE Topic:LITERAL:a 1",
        "DEBUG Allowed DESCRIBE Topic:LITERAL:b 1",
        "INFO Denied DESCRIBE Topic:LITERAL:c 1",
    ]


async def test_denied_topics_come_last_on_every_page() -> None:
    """29, no id, no mask; whatever fits the page."""
    node = await world(allow("alice", DESCRIBE, topic("b")))

    answered = answer(API, asking("z", "a", "b", limit=1), node, 0, user="alice")

    assert pages(answered) == [("b", 0, [0]), ("a", 29, []), ("z", 29, [])]
    assert cursor_of(answered) == ("b", 1)
    refused = answered.topics[1]
    assert (refused.topic_id, refused.topic_authorized_operations) == (bytes(16), -(2**31))


async def test_pages_join_without_gap_or_overlap() -> None:
    """Following the cursor gives every partition once, whatever the size of a page."""
    node = await world()
    whole = [("a", 0), ("b", 0), ("b", 1), ("b", 2), ("c", 0), ("c", 1)]

    for limit in (1, 2, 7):
        seen: list[tuple[str | None, int]] = []
        cursor: tuple[str, int] | None = None
        while True:
            answered = answer(API, asking(limit=limit, cursor=cursor), node, 0)
            page = [(name, index) for name, _, indexes in pages(answered) for index in indexes]
            assert len(page) <= limit
            seen += page
            cursor = cursor_of(answered)
            if cursor is None:
                break
        assert seen == whole


@pytest.mark.parametrize(
    ("limit", "properties", "partitions"),
    [(0, "", 1), (-5, "", 1), (5, "max.request.partition.size.limit=2\n", 2), (5, "", 5)],
)
async def test_page_size_is_bounded(limit: int, properties: str, partitions: int) -> None:
    """At least 1, at most what the server allows."""
    node = await world(properties=properties)

    answered = answer(API, asking(limit=limit), node, 0)

    assert sum(len(row.partitions) for row in answered.topics) == partitions


@pytest.mark.parametrize("cursor", [("zz", 0), ("b", -1)])
async def test_invalid_cursors_are_rejected(cursor: tuple[str, int]) -> None:
    """42 in every row asked for; without rows the answer is empty."""
    node = await world()

    refused = answer(API, asking("a", "b", cursor=cursor), node, 0)

    assert pages(refused) == [("a", 42, []), ("b", 42, [])]
    assert answer(API, asking(cursor=("b", -1)), node, 0).topics == ()


async def test_topics_are_sorted_and_unique() -> None:
    """Missing names stand among the others, with 3 or 17; masks are always computed."""
    node = await world()

    answered = answer(API, asking("z", "c", "a", "b b", "a"), node, 0)

    assert pages(answered) == [("a", 0, [0]), ("b b", 17, []), ("c", 0, [0, 1]), ("z", 3, [])]
    assert {row.topic_authorized_operations for row in answered.topics} == {3576}
    assert answered.topics[0].topic_id == a_topic("a").topic_id
    assert cursor_of(answered) is None
