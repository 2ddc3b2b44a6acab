"""DescribeLogDirs: the folder of the node with its partitions, and a refusal."""

from __future__ import annotations

import pytest

from doorkeeper.handlers.describe_log_dirs import API
from doorkeeper_wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from testkit.acl import DESCRIBE, allow
from testkit.nodes import CLUSTER, a_topic, answer, node_of


@pytest.mark.parametrize("version", [1, 3, 5])
async def test_folders(version: int) -> None:
    """There is one, with every partition; a refusal has a code from version 3 on."""
    node = await node_of(allow("alice", DESCRIBE, CLUSTER), topics=[a_topic("a", partitions=2)])
    request = DescribeLogDirsRequest(topics=None)

    shown = answer(API, request, node, version, user="alice")
    refused = answer(API, request, node, version, user="bob")

    (folder,) = shown.results
    assert (shown.error_code, folder.error_code) == (0, 0)
    assert folder.log_dir == str(node.settings.data_dir.absolute())
    assert [
        (topic.name, each.partition_index, each.partition_size, each.offset_lag)
        for topic in folder.topics
        for each in topic.partitions
    ] == [("a", 0, 0, 0), ("a", 1, 0, 0)]
    assert (refused.error_code, refused.results) == (31 if version >= 3 else 0, ())


async def test_partitions() -> None:
    """Those that are not there, or not on this node, are left out; each is answered once."""
    there = a_topic("a", partitions=3, assignments=((1,), (7,), (7, 1)))
    node = await node_of(allow("alice", DESCRIBE, CLUSTER), topics=[there, a_topic("b")])
    topics = (("a", (2, 1)), ("a", (2, 9)), ("none", (0,)), ("b", ()))
    request = DescribeLogDirsRequest(
        topics=tuple(
            DescribableLogDirTopic(topic=name, partitions=indexes) for name, indexes in topics
        )
    )

    (folder,) = answer(API, request, node, 5, user="alice").results

    assert [
        (topic.name, [each.partition_index for each in topic.partitions]) for topic in folder.topics
    ] == [("a", [2])]
