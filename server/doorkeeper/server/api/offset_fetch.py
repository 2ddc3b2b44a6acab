"""OffsetFetch (9), versions 1-10: reads how far groups have read.

Needs DESCRIBE on each group (30), then DESCRIBE on each topic that it names (29); of all topics,
those without it are left out. A partition without an offset is -1 with an empty text and no error,
also where the group, the topic or the partition does not exist. A group without members answers
whichever member asks; a member of one with the new protocol must be known, in its epoch (25, 113).

    v2  all topics; an error of the group     v3  throttling     v5  leader epochs
    v6  flexible     v7  stable offsets: 88 while a transaction has another     v8  several groups
    v9  members and their epochs (KIP-848)    v10 ids instead of names; unknown ones are 100

Nodes other than the coordinator answer 16 for the group. Refused topics come last.

Source: ``handleOffsetFetchRequest`` and ``OffsetMetadataManager`` of the broker 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec.structs import astuple

from doorkeeper.base.errors import ErrorCode, answer_of
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import allowed_names, is_allowed, named_topics, needs
from doorkeeper.server.resources.groups import index_of, is_of, partition_text, topic_of
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.schema.declared import StoredOffset, StoredTopic
from doorkeeper_wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

_DESCRIBE_GROUP, _DESCRIBE, _DESCRIBE_ALL = needs(OffsetFetchRequest.API_KEY)

GROUPS_FROM = 8
"""The version that has several groups."""

IDS_FROM = 10
"""The version that has ids of topics instead of names."""


Pending = Collection[tuple[str, str]]
"""Groups and partitions, such as ``orders-0``, of which an open transaction has an offset."""


def handle(
    request: OffsetFetchRequest,
    context: RequestContext,
    node: Node,
    find_pending: Callable[[], Pending] = frozenset,
) -> OffsetFetchResponse:
    version = context.authorizable.request_version
    pending = find_pending() if request.require_stable else ()
    groups = [_group(asked, context, node, pending) for asked in _groups_of(request, version)]
    return _response(groups, version)


def _groups_of(request: OffsetFetchRequest, version: int) -> Sequence[OffsetFetchRequestGroup]:
    """Return the groups of a request in the form of the newest version."""
    if version >= GROUPS_FROM:
        return request.groups
    topics = None
    if request.topics is not None:
        topics = tuple(
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        )
    return (OffsetFetchRequestGroup(group_id=request.group_id, topics=topics),)


def _group(
    asked: OffsetFetchRequestGroup, context: RequestContext, node: Node, pending: Pending
) -> OffsetFetchResponseGroup:
    version = context.authorizable.request_version
    if not is_allowed(node, context, _DESCRIBE_GROUP, asked.group_id):
        return _refusal(asked, _DESCRIBE_GROUP.refusal, version)
    rows = node.state.offsets.of_group(asked.group_id)
    if asked.topics is None:
        error = _error_of(asked, node)
        if error is not ErrorCode.NONE:
            return _refusal(asked, error, version)
        return OffsetFetchResponseGroup(
            group_id=asked.group_id, topics=_all_topics(rows.values(), context, node)
        )
    topics = named_topics(node, asked.topics, by_id=version >= IDS_FROM)
    names = [name for _, name, _ in topics if name is not None]
    allowed = allowed_names(node, context, _DESCRIBE, names)
    shown, refused, tried = [], [], []
    for asked_topic, name, topic in topics:
        if name is None:
            refused.append(_without_offsets(asked_topic, ErrorCode.UNKNOWN_TOPIC_ID))
        elif name not in allowed:
            refused.append(_without_offsets(asked_topic, _DESCRIBE.refusal))
        else:
            tried.append(asked_topic)
            shown.append(_topic(asked_topic, name, topic, rows, asked.group_id, pending))
    error = _error_of(asked, node)
    if error is not ErrorCode.NONE:
        failed = _refusal(asked.replace(topics=tuple(tried)), error, version)
        # Version 1 has errors in its rows alone.
        return failed if version > 1 else failed.replace(topics=(*failed.topics, *refused))
    return OffsetFetchResponseGroup(group_id=asked.group_id, topics=(*shown, *refused))


def _error_of(asked: OffsetFetchRequestGroup, node: Node) -> ErrorCode:
    """Return the error of a group; NONE where it may be read."""
    if node.coordinator_id != node.node_id:
        return ErrorCode.NOT_COORDINATOR
    group = node.groups.get(asked.group_id)
    is_member = asked.member_id is not None or asked.member_epoch >= 0
    if group is None or group.group_type != "consumer" or not is_member:
        return ErrorCode.NONE
    for member in group.members:
        if member.member_id == asked.member_id:
            is_stale = asked.member_epoch != member.newer.epoch
            return ErrorCode.STALE_MEMBER_EPOCH if is_stale else ErrorCode.NONE
    return ErrorCode.UNKNOWN_MEMBER_ID


def _all_topics(
    rows: Iterable[StoredOffset], context: RequestContext, node: Node
) -> tuple[OffsetFetchResponseTopics, ...]:
    by_topic: dict[str, list[StoredOffset]] = {}
    for row in rows:
        name = topic_of(row)
        if is_of(row, node.topics.get(name)):
            by_topic.setdefault(name, []).append(row)
    allowed = allowed_names(node, context, _DESCRIBE_ALL, by_topic)
    return tuple(
        OffsetFetchResponseTopics(
            name=name,
            topic_id=offsets[0].topic_id,
            partitions=tuple(
                _partition(index_of(row), row) for row in sorted(offsets, key=index_of)
            ),
        )
        for name, offsets in sorted(by_topic.items())
        if name in allowed
    )


def _topic(
    asked: OffsetFetchRequestTopics,
    name: str,
    topic: StoredTopic | None,
    rows: Mapping[str, StoredOffset],
    group_id: str,
    pending: Pending,
) -> OffsetFetchResponseTopics:
    partitions = []
    for index in asked.partition_indexes:
        partition = partition_text(name, index)
        if (group_id, partition) in pending:
            partitions.append(_no_offset(index, ErrorCode.UNSTABLE_OFFSET_COMMIT))
            continue
        row = rows.get(partition)
        partitions.append(_partition(index, row if row and is_of(row, topic) else None))
    return OffsetFetchResponseTopics(
        name=asked.name, topic_id=asked.topic_id, partitions=tuple(partitions)
    )


def _partition(index: int, row: StoredOffset | None) -> OffsetFetchResponsePartitions:
    if row is None:
        return _no_offset(index, ErrorCode.NONE)
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=row.offset,
        committed_leader_epoch=row.leader_epoch,
        metadata=row.metadata,
    )


def _no_offset(index: int, error: ErrorCode) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index, committed_offset=-1, metadata="", error_code=error.value
    )


def _without_offsets(asked: OffsetFetchRequestTopics, code: ErrorCode) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=asked.name,
        topic_id=asked.topic_id,
        partitions=tuple(_no_offset(index, code) for index in asked.partition_indexes),
    )


def _refusal(
    asked: OffsetFetchRequestGroup, code: ErrorCode, version: int
) -> OffsetFetchResponseGroup:
    """Return the error of a group; version 1 has it in each row instead."""
    topics: tuple[OffsetFetchResponseTopics, ...] = ()
    if version < 2:
        topics = tuple(_without_offsets(topic, code) for topic in asked.topics or ())
    return OffsetFetchResponseGroup(group_id=asked.group_id, topics=topics, error_code=code.value)


def _response(groups: Sequence[OffsetFetchResponseGroup], version: int) -> OffsetFetchResponse:
    if version >= GROUPS_FROM:
        return OffsetFetchResponse(groups=tuple(groups))
    (group,) = groups
    return OffsetFetchResponse(
        error_code=group.error_code,
        topics=tuple(
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=tuple(
                    # The fields are the same.
                    OffsetFetchResponsePartition(*astuple(row))
                    for row in topic.partitions
                ),
            )
            for topic in group.topics
        ),
    )


def refuse(request: OffsetFetchRequest, version: int, error: BaseException) -> OffsetFetchResponse:
    """Answer the same error for every group."""
    code, _ = answer_of(error)
    groups = [_refusal(asked, code, version) for asked in _groups_of(request, version)]
    return _response(groups, version)


API = declare(OffsetFetchRequest, handle, refuse)
