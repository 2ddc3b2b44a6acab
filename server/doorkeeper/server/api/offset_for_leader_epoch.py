"""OffsetForLeaderEpoch (23), versions 2-4: tells where the epoch of a leader ended.

Needs CLUSTER_ACTION on the cluster, else DESCRIBE on each topic (29). Each partition has had one
leader, of epoch 0, which ends at the end of the log, as every epoch below does: without the test
broker at offset 0. A later one is unknown, and so is -1: both are answered -1.
A node that does not lead the partition answers 6, also where a client knows another leader's epoch
(74, 75). Refused topics come after all others.

    v3  the replica that asks     v4  flexible

Source: ``handleOffsetForLeaderEpochRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import declare, no_text, refusal_of, refuse_rows
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import allowed_names, is_allowed, needs
from doorkeeper.server.api.records import LogOf, empty_log
from doorkeeper.server.resources.topics.placement import (
    LEADER_EPOCH,
    UNKNOWN_EPOCH,
    Places,
    error_of_leader,
)
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)

_CLUSTER_ACTION, _DESCRIBE = needs(OffsetForLeaderEpochRequest.API_KEY)


def handle(
    request: OffsetForLeaderEpochRequest,
    context: RequestContext,
    node: Node,
    log_of: LogOf = empty_log,
) -> OffsetForLeaderEpochResponse:
    """Answer for each partition of the topics that the caller may describe."""
    names = (topic.topic for topic in request.topics)
    if is_allowed(node, context, _CLUSTER_ACTION):
        allowed = frozenset(names)
    else:
        allowed = allowed_names(node, context, _DESCRIBE, names)
    places = Places(node.registered_brokers(context.authorizable.listener_name))

    def end(name: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
        topic = node.topics.get(name)
        epoch = asked.current_leader_epoch
        error = error_of_leader(topic, asked.partition, places, node.node_id, epoch)
        is_known = UNKNOWN_EPOCH != asked.leader_epoch <= LEADER_EPOCH
        if error is ErrorCode.NONE and topic is not None and is_known:
            return EpochEndOffset(
                partition=asked.partition,
                leader_epoch=asked.leader_epoch,
                end_offset=log_of(topic, asked.partition).end_offset,
            )
        return EpochEndOffset(partition=asked.partition, error_code=error.value)

    shown = [_row(topic, end) for topic in request.topics if topic.topic in allowed]
    refused = [
        refusal_of(OffsetForLeaderTopicResult, topic, _DESCRIBE.refusal)
        for topic in request.topics
        if topic.topic not in allowed
    ]
    return OffsetForLeaderEpochResponse(topics=(*shown, *refused))


def _row(
    topic: OffsetForLeaderTopic, end: Callable[[str, OffsetForLeaderPartition], EpochEndOffset]
) -> OffsetForLeaderTopicResult:
    return OffsetForLeaderTopicResult(
        topic=topic.topic,
        partitions=tuple(end(topic.topic, partition) for partition in topic.partitions),
    )


API = declare(
    OffsetForLeaderEpochRequest, handle, refuse_rows(OffsetForLeaderEpochResponse, no_text)
)
