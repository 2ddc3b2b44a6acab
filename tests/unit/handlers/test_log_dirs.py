"""DescribeLogDirs and AlterReplicaLogDirs: the folder of the node with its partitions."""

from __future__ import annotations

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.handlers import alter_replica_log_dirs, describe_log_dirs
from doorkeeper_wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from doorkeeper_wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from testkit.acl import DESCRIBE, allow
from testkit.nodes import CLUSTER, a_topic, answer, node_of


@pytest.mark.parametrize("version", [1, 3, 5])
async def test_log_dirs_are_described(version: int) -> None:
    """There is one, with every partition; a refusal has a code from version 3 on."""
    node = await node_of(allow("alice", DESCRIBE, CLUSTER), topics=[a_topic("a", partitions=2)])
    request = DescribeLogDirsRequest(topics=None)

    shown = answer(describe_log_dirs.API, request, node, version, user="alice")
    refused = answer(describe_log_dirs.API, request, node, version, user="bob")

    (folder,) = shown.results
    assert (shown.error_code, folder.error_code) == (0, 0)
    assert folder.log_dir == str(node.settings.data_dir.absolute())
    assert [
        (topic.name, each.partition_index, each.partition_size, each.offset_lag)
        for topic in folder.topics
        for each in topic.partitions
    ] == [("a", 0, 0, 0), ("a", 1, 0, 0)]
    assert (refused.error_code, refused.results) == (31 if version >= 3 else 0, ())


async def test_absent_partitions_are_left_out() -> None:
    """Those that are not there, or not on this node, are left out; each is answered once."""
    there = a_topic("a", partitions=3, assignments=((1,), (7,), (7, 1)))
    node = await node_of(allow("alice", DESCRIBE, CLUSTER), topics=[there, a_topic("b")])
    topics = (("a", (2, 1)), ("a", (2, 9)), ("none", (0,)), ("b", ()))
    request = DescribeLogDirsRequest(
        topics=tuple(
            DescribableLogDirTopic(topic=name, partitions=indexes) for name, indexes in topics
        )
    )

    (folder,) = answer(describe_log_dirs.API, request, node, 5, user="alice").results

    assert [
        (topic.name, [each.partition_index for each in topic.partitions]) for topic in folder.topics
    ] == [("a", [2])]


async def test_partitions_stay_in_their_folder() -> None:
    """Absent partitions, those of other nodes, and other folders are refused."""
    topics = [a_topic("a"), a_topic("b", assignments=((7,),)), a_topic("c")]
    node = await node_of(allow("alice", AclOperation.ALTER, CLUSTER), topics=topics)
    here = str(node.settings.data_dir.absolute())
    places = ((here, "a", (0, 1)), (here, "b", (0,)), ("/other", "c", (0,)))
    request = AlterReplicaLogDirsRequest(
        dirs=tuple(
            AlterReplicaLogDir(
                path=path, topics=(AlterReplicaLogDirTopic(name=name, partitions=indexes),)
            )
            for path, name, indexes in places
        )
    )

    response = answer(alter_replica_log_dirs.API, request, node, 2, user="alice")

    rows = [row.error_code for topic in response.results for row in topic.partitions]
    assert rows == [0, 3, 6, 57]
