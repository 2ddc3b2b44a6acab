"""AlterReplicaLogDirs (34), versions 1-2: moves replicas to other folders, of which there are none.

Needs ALTER on the cluster (31 for every partition). A partition may be moved to the folder where it
is, the one that DescribeLogDirs shows; no other folder is found (57). Partitions that are not there
are 3, those on other nodes 6.

    v2  flexible

Source: ``handleAlterReplicaLogDirsRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable

from doorkeeper.base.errors import ErrorCode, answer_of
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper.server.config.store_keys import DATA_DIR
from doorkeeper.server.resources.topics.placement import Places
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

(_ALTER,) = needs(AlterReplicaLogDirsRequest.API_KEY)


def handle(
    request: AlterReplicaLogDirsRequest, context: RequestContext, node: Node
) -> AlterReplicaLogDirsResponse:
    """Answer each partition: it stays where it is, or there is no place to move it to."""
    if not is_allowed(node, context, _ALTER):
        return _respond(request, lambda *_: _ALTER.refusal)
    own_path = str(node.settings[DATA_DIR].absolute())
    places = Places(node.brokers(context.authorizable.listener_name))

    def outcome(path: str, name: str, index: int) -> ErrorCode:
        if path != own_path:
            return ErrorCode.LOG_DIR_NOT_FOUND
        topic = node.topics.get(name)
        if topic is None or not 0 <= index < topic.partitions:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        is_here = node.node_id in places.of(topic, index).replicas
        return ErrorCode.NONE if is_here else ErrorCode.NOT_LEADER_OR_FOLLOWER

    return _respond(request, outcome)


def _respond(
    request: AlterReplicaLogDirsRequest, outcome: Callable[[str, str, int], ErrorCode]
) -> AlterReplicaLogDirsResponse:
    """Answer each partition once, with the outcome for the last folder that is named for it."""
    partitions: dict[str, dict[int, ErrorCode]] = {}
    for folder in request.dirs:
        for topic in folder.topics:
            partitions.setdefault(topic.name, {}).update(
                (index, outcome(folder.path, topic.name, index)) for index in topic.partitions
            )
    return AlterReplicaLogDirsResponse(
        results=tuple(
            AlterReplicaLogDirTopicResult(
                topic_name=name,
                partitions=tuple(
                    AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code.value)
                    for index, code in codes.items()
                ),
            )
            for name, codes in partitions.items()
        )
    )


def refuse(
    request: AlterReplicaLogDirsRequest, version: int, error: BaseException
) -> AlterReplicaLogDirsResponse:
    """Answer the same error for every partition."""
    code, _ = answer_of(error)
    return _respond(request, lambda *_: code)


API = declare(AlterReplicaLogDirsRequest, handle, refuse)
