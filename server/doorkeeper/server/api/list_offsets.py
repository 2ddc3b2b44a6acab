"""ListOffsets (2), versions 1-11: looks up offsets of partitions by time.

Needs DESCRIBE on each topic (29). Without the test broker no partition holds records: its first
offset and its end are 0, and there is no record of any time, nor one of the largest time (-1).

    v2  isolation levels     v4  leader epochs     v6  flexible     v7  the largest time (-3)
    v8  the first local offset (-4)     v9  the last offset in tiered storage (-5)
    v10 a time-out           v11 the first offset that waits for tiered storage (-6)

A negative time that the version does not have is 35; a partition that the request names twice is
42, in one row.
A node that does not lead the partition answers 6, also where a client knows another leader's epoch
(74, 75). Refused topics come after all others.

Source: ``handleListOffsetRequest`` and ``ReplicaManager.fetchOffset`` of the broker 4.3.1.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import declare, no_text, refusal_of, refuse_rows
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import allowed_names, needs
from doorkeeper.server.api.records import Log, LogOf, TimedOffset, empty_log
from doorkeeper.server.resources.topics.placement import (
    LEADER_EPOCH,
    Places,
    error_of_leader,
    error_of_replica,
)
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)

(_DESCRIBE,) = needs(ListOffsetsRequest.API_KEY)

_VERSIONS: Final = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}
"""The negative times, and the first version that has each."""

_LATEST, _LARGEST_TIME = -1, -3
_EARLIEST: Final = (-2, -4)
_READ_COMMITTED: Final = 1

_DEBUGGER: Final = -2
"""The replica id of a client that any replica may answer."""


def handle(
    request: ListOffsetsRequest,
    context: RequestContext,
    node: Node,
    log_of: LogOf = empty_log,
) -> ListOffsetsResponse:
    """Look up each partition of the topics that the caller may describe."""
    named = Counter((t.name, p.partition_index) for t in request.topics for p in t.partitions)
    duplicates = {partition for partition, count in named.items() if count > 1}
    allowed = allowed_names(node, context, _DESCRIBE, [topic.name for topic in request.topics])
    places = Places(node.registered_brokers(context.authorizable.listener_name))
    version = context.authorizable.request_version
    error_of = error_of_replica if request.replica_id == _DEBUGGER else error_of_leader

    def row(topic: ListOffsetsTopic, asked: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
        known = node.topics.get(topic.name)
        if (topic.name, asked.partition_index) in duplicates:
            error = ErrorCode.INVALID_REQUEST
        elif asked.timestamp < 0 and version < _VERSIONS.get(asked.timestamp, version + 1):
            error = ErrorCode.UNSUPPORTED_VERSION
        else:
            error = error_of(
                known,
                asked.partition_index,
                places,
                node.node_id,
                asked.current_leader_epoch,
            )
        if error is not ErrorCode.NONE or known is None:
            return _empty(asked, error)
        log = log_of(known, asked.partition_index)
        offset = _look_up(log, asked.timestamp, request.isolation_level)
        if offset is None:
            return _empty(asked, error)
        return ListOffsetsPartitionResponse(
            partition_index=asked.partition_index,
            timestamp=offset.timestamp,
            offset=offset.offset,
            leader_epoch=LEADER_EPOCH if version >= 4 else -1,
        )

    rows: dict[str, dict[int, ListOffsetsPartitionResponse]] = {}
    for topic in request.topics:
        if topic.name in allowed:
            answered = {asked.partition_index: row(topic, asked) for asked in topic.partitions}
            rows.setdefault(topic.name, {}).update(answered)
    shown = [
        ListOffsetsTopicResponse(name=name, partitions=tuple(partitions.values()))
        for name, partitions in rows.items()
    ]
    refused = [
        refusal_of(ListOffsetsTopicResponse, topic, _DESCRIBE.refusal)
        for topic in request.topics
        if topic.name not in allowed
    ]
    return ListOffsetsResponse(topics=(*shown, *refused))


def _look_up(log: Log, timestamp: int, isolation_level: int) -> TimedOffset | None:
    end = log.stable_offset if isolation_level == _READ_COMMITTED else log.end_offset
    if timestamp == _LATEST:
        return TimedOffset(end, -1)
    if timestamp in _EARLIEST:
        return TimedOffset(log.start_offset, -1)
    found = None
    if timestamp == _LARGEST_TIME:
        found = log.find_largest_time()
    elif timestamp >= 0:
        # There is no tiered storage, to which -5 and -6 refer.
        found = log.find_time(timestamp)
    return found if found is not None and found.offset < end else None


def _empty(asked: ListOffsetsPartition, error: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index, error_code=error.value
    )


API = declare(ListOffsetsRequest, handle, refuse_rows(ListOffsetsResponse, no_text))
