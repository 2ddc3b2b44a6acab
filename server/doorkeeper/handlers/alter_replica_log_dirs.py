"""AlterReplicaLogDirs (34), versions 1-2: moves replicas to other folders, of which there are none.

Needs ALTER on the cluster (31 for every partition). No folder is found (57).

    v2  flexible

Source: ``handleAlterReplicaLogDirsRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.api.declaration import Api
from doorkeeper.api.permissions import is_allowed, needs
from doorkeeper.errors import ErrorCode, answer_of
from doorkeeper_wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

if TYPE_CHECKING:
    from doorkeeper.api.node import Node
    from doorkeeper.request_context import RequestContext

(_ALTER,) = needs(34)


def handle(
    request: AlterReplicaLogDirsRequest, context: RequestContext, node: Node
) -> AlterReplicaLogDirsResponse:
    """Answer each partition with an error: no folder is there to move it to."""
    allowed = is_allowed(node, context, _ALTER)
    return _respond(request, ErrorCode.LOG_DIR_NOT_FOUND if allowed else _ALTER.refusal)


def _respond(request: AlterReplicaLogDirsRequest, code: ErrorCode) -> AlterReplicaLogDirsResponse:
    partitions: dict[str, dict[int, None]] = {}
    for folder in request.dirs:
        for topic in folder.topics:
            partitions.setdefault(topic.name, {}).update(dict.fromkeys(topic.partitions))
    return AlterReplicaLogDirsResponse(
        results=tuple(
            AlterReplicaLogDirTopicResult(
                topic_name=name,
                partitions=tuple(
                    AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code.value)
                    for index in indexes
                ),
            )
            for name, indexes in partitions.items()
        )
    )


def refuse(
    request: AlterReplicaLogDirsRequest,
    version: int,  # noqa: ARG001  the form of Api.refuse
    error: BaseException,
) -> AlterReplicaLogDirsResponse:
    """Answer the same error for every partition."""
    code, _ = answer_of(error)
    return _respond(request, code)


API = Api(
    key=34,
    name="AlterReplicaLogDirs",
    min_version=1,
    max_version=2,
    request=AlterReplicaLogDirsRequest,
    handle=handle,
    refuse=refuse,
)
