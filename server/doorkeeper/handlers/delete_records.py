"""DeleteRecords (21), versions 0-2: deletes the records of partitions before an offset.

Needs DELETE on each topic (29). No partition holds records: to delete those before the end (-1) or
before offset 0 succeeds, and any other offset is out of range (1). Kafka's own topics are refused
(17), and topics that are only compacted (44). A node that does not lead the partition answers 6.

    v2  flexible

Source: ``handleDeleteRecordsRequest`` of the broker 4.3.1, ``Partition.deleteRecordsOnLeader``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.api.declaration import declare
from doorkeeper.api.permissions import allowed_names, needs
from doorkeeper.configs.topic import effective
from doorkeeper.errors import ErrorCode, answer_of
from doorkeeper.topics.leadership import error_of_leader
from doorkeeper.topics.names import INTERNAL_TOPICS
from doorkeeper.topics.placement import Places
from doorkeeper_wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.api.node import Node
    from doorkeeper.request_context import RequestContext

(_DELETE,) = needs(21)

_END: Final = -1
_NO_OFFSET: Final = -1


def handle(
    request: DeleteRecordsRequest, context: RequestContext, node: Node
) -> DeleteRecordsResponse:
    """Answer for each partition of the topics whose records the caller may delete."""
    allowed = allowed_names(node, context, _DELETE, [topic.name for topic in request.topics])
    places = Places(node.registered_brokers(context.authorizable.listener_name))

    def error_of(name: str, asked: DeleteRecordsPartition) -> ErrorCode:
        if name not in allowed:
            return _DELETE.refusal
        error = error_of_leader(node.topics.get(name), asked.partition_index, places, node.node_id)
        if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return error
        if name in INTERNAL_TOPICS:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if error is not ErrorCode.NONE:
            return error
        if _is_compacted(node, name):
            return ErrorCode.POLICY_VIOLATION
        return ErrorCode.NONE if asked.offset in (_END, 0) else ErrorCode.OFFSET_OUT_OF_RANGE

    return _respond(request, error_of)


def _is_compacted(node: Node, name: str) -> bool:
    topic = node.topics.get(name)
    assert topic is not None, "a partition of it was found"
    configs = effective(topic.configs, node.settings.values_of)
    return configs["cleanup.policy"][0] == "compact"


def _respond(
    request: DeleteRecordsRequest, error_of: Callable[[str, DeleteRecordsPartition], ErrorCode]
) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=tuple(
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=tuple(
                    _row(asked, error_of(topic.name, asked)) for asked in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _row(asked: DeleteRecordsPartition, error: ErrorCode) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(
        partition_index=asked.partition_index,
        low_watermark=0 if error is ErrorCode.NONE else _NO_OFFSET,
        error_code=error.value,
    )


def refuse(
    request: DeleteRecordsRequest, version: int, error: BaseException
) -> DeleteRecordsResponse:
    """Answer the same error for every partition."""
    code, _ = answer_of(error)
    return _respond(request, lambda _name, _asked: code)


API = declare(DeleteRecordsRequest, handle, refuse)
