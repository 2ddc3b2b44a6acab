"""DeleteRecords (21), versions 0-2: deletes the records of partitions before an offset.

Needs DELETE on each topic (29). An offset beyond the end, or negative, is out of range (1); -1
means the end. Without the test broker no partition holds records, and the end is 0. Kafka's own
topics are refused (17), and topics that are only compacted (44). A node that does not lead the
partition answers 6.

    v2  flexible

Source: ``handleDeleteRecordsRequest`` of the broker 4.3.1, ``Partition.deleteRecordsOnLeader``.
"""

from __future__ import annotations

from typing import Final

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import declare, refusal_of, refuse_rows
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import allowed_names, needs
from doorkeeper.server.api.records import LogOf, empty_log
from doorkeeper.server.resources.settings.topic import effective
from doorkeeper.server.resources.topics.names import INTERNAL_TOPICS
from doorkeeper.server.resources.topics.placement import Places, error_of_leader
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.schema.declared import StoredTopic
from doorkeeper_wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

(_DELETE,) = needs(DeleteRecordsRequest.API_KEY)

_END: Final = -1
_NO_OFFSET: Final = -1


def handle(
    request: DeleteRecordsRequest,
    context: RequestContext,
    node: Node,
    log_of: LogOf = empty_log,
) -> DeleteRecordsResponse:
    """Delete the records of the topics whose records the caller may delete."""
    allowed = allowed_names(node, context, _DELETE, [topic.name for topic in request.topics])
    places = Places(node.registered_brokers(context.authorizable.listener_name))

    def error_of(name: str, topic: StoredTopic | None, index: int) -> ErrorCode:
        if name not in allowed:
            return _DELETE.refusal
        error = error_of_leader(topic, index, places, node.node_id)
        if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or topic is None:
            return error
        if name in INTERNAL_TOPICS:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if error is not ErrorCode.NONE:
            return error
        return ErrorCode.POLICY_VIOLATION if _is_compacted(topic, node) else ErrorCode.NONE

    def delete(name: str, asked: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
        topic = node.topics.get(name)
        error = error_of(name, topic, asked.partition_index)
        if error is not ErrorCode.NONE or topic is None:
            return refusal_of(DeleteRecordsPartitionResult, asked, error, low_watermark=_NO_OFFSET)
        log = log_of(topic, asked.partition_index)
        offset = log.end_offset if asked.offset == _END else asked.offset
        if not 0 <= offset <= log.end_offset:
            error = ErrorCode.OFFSET_OUT_OF_RANGE
            return refusal_of(DeleteRecordsPartitionResult, asked, error, low_watermark=_NO_OFFSET)
        log.delete_before(offset)
        return DeleteRecordsPartitionResult(
            partition_index=asked.partition_index, low_watermark=log.start_offset
        )

    return DeleteRecordsResponse(
        topics=tuple(
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=tuple(delete(topic.name, asked) for asked in topic.partitions),
            )
            for topic in request.topics
        )
    )


def _is_compacted(topic: StoredTopic, node: Node) -> bool:
    configs = effective(topic.configs, node.settings.values_of)
    return configs["cleanup.policy"][0] == "compact"


API = declare(
    DeleteRecordsRequest, handle, refuse_rows(DeleteRecordsResponse, low_watermark=_NO_OFFSET)
)
