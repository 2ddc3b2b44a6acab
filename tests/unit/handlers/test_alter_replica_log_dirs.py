"""AlterReplicaLogDirs: the folder of a partition, folders that are not there, and a refusal."""

from __future__ import annotations

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.handlers.alter_replica_log_dirs import API
from doorkeeper_wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from testkit.acl import allow
from testkit.nodes import CLUSTER, a_topic, answer, node_of


@pytest.mark.parametrize(("user", "code"), [("alice", 57), ("bob", 31)])
async def test_every_partition_is_answered_once(user: str, code: int) -> None:
    """By topic, whichever folders it shall go to."""
    node = await node_of(allow("alice", AclOperation.ALTER, CLUSTER), topics=[a_topic("a")])
    request = AlterReplicaLogDirsRequest(
        dirs=tuple(
            AlterReplicaLogDir(
                path=path, topics=(AlterReplicaLogDirTopic(name="a", partitions=partitions),)
            )
            for path, partitions in (("/one", (0, 1)), ("/two", (1, 2)))
        )
    )

    found = answer(API, request, node, 2, user=user)

    assert [
        (each.topic_name, row.partition_index, row.error_code)
        for each in found.results
        for row in each.partitions
    ] == [("a", 0, code), ("a", 1, code), ("a", 2, code)]


async def test_where_it_is() -> None:
    """A partition stays in its folder; one that is not there, or not on this node, is refused."""
    elsewhere = a_topic("b", assignments=((7,),))
    node = await node_of(
        allow("alice", AclOperation.ALTER, CLUSTER), topics=[a_topic("a"), elsewhere]
    )
    asked = (("a", (0, 1)), ("b", (0,)), ("none", (0,)))
    request = AlterReplicaLogDirsRequest(
        dirs=(
            AlterReplicaLogDir(
                path=str(node.settings.data_dir.absolute()),
                topics=tuple(
                    AlterReplicaLogDirTopic(name=name, partitions=indexes)
                    for name, indexes in asked
                ),
            ),
        )
    )

    found = answer(API, request, node, 2, user="alice")

    assert [
        (each.topic_name, row.partition_index, row.error_code)
        for each in found.results
        for row in each.partitions
    ] == [("a", 0, 0), ("a", 1, 3), ("b", 0, 6), ("none", 0, 3)]
