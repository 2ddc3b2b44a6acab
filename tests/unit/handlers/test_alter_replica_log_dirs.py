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


@pytest.mark.parametrize(("user", "codes"), [("alice", [0, 3, 6, 57]), ("bob", [31, 31, 31, 31])])
async def test_partitions_stay_in_their_folder(user: str, codes: list[int]) -> None:
    """Absent partitions, those of other nodes and other folders are refused; all without ALTER."""
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

    response = answer(API, request, node, 2, user=user)

    rows = [row.error_code for topic in response.results for row in topic.partitions]
    assert rows == codes
