"""DescribeProducers: no producers, absent topics, and refusals."""

from __future__ import annotations

import pytest

from doorkeeper.handlers.describe_producers import API
from doorkeeper_wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from testkit.acl import READ, allow, topic
from testkit.nodes import a_topic, answer, node_of

ABSENT = "This server does not host this topic-partition."


@pytest.mark.parametrize(
    ("name", "index", "code", "text"),
    [
        ("a", 0, 0, None),
        ("a", 1, 3, None),
        ("b", 0, 29, "Topic authorization failed."),
        ("absent", 0, 3, ABSENT),
        ("hidden", 0, 29, "Topic authorization failed."),
        ("", 0, 17, "Topic name is invalid: the empty string is not allowed"),
    ],
)
async def test_partitions(name: str, index: int, code: int, text: str | None) -> None:
    """Names come first, then rights, then topics, then partitions."""
    node = await node_of(
        allow("alice", READ, topic("a")),
        allow("alice", READ, topic("absent")),
        topics=[a_topic("a"), a_topic("b")],
    )
    request = DescribeProducersRequest(
        topics=(TopicRequest(name=name, partition_indexes=(index,)),)
    )

    row = answer(API, request, node, 0, user="alice").topics[0].partitions[0]

    assert (row.error_code, row.error_message, row.active_producers) == (code, text, ())
