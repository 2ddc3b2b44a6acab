"""OffsetCommit (8), versions 2-10: stores how far a group has read.

Needs READ on the group (30 in every row), then READ on each topic (29). No client can be a member
of a group here, so commits are those of administrators and of consumers that choose their
partitions themselves: the generation is -1, and the group has no members. The first commit creates
the group, which is classic and Empty. A generation where there is no such group is 22, from version
9 on 69; with the test broker an unknown member is 25, and another epoch than the member's 113.

    v3  throttling      v5  no time of retention     v6  leader epochs     v7  static members
    v8  flexible        v9  epochs of members (KIP-848)      v10  ids instead of names; unknown: 100

Partitions that do not exist are 3. A text of more than 4,096 UTF-16 code units is 12, and an offset
beyond the bounds on offsets and groups is 28. The other partitions of the request are stored. Nodes
other than the coordinator answer 16 for them. Refused partitions come first.

Source: ``handleOffsetCommitRequest`` and ``OffsetMetadataManager`` of the broker 4.3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.slices import Slices
from doorkeeper.server.api.declaration import declare, no_text, refuse_rows
from doorkeeper.server.api.node import Node, Outcome, Update, UpdateOperation
from doorkeeper.server.api.permissions import allowed_names, is_allowed, named_topics, needs
from doorkeeper.server.resources.groups import Committer, partition_text, plan_commit
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.schema.change import Change
from doorkeeper.server.schema.declared import StoredOffset, StoredTopic
from doorkeeper.server.state.state import State
from doorkeeper_wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from doorkeeper_wire.messages.txn_offset_commit import TxnOffsetCommitRequestPartition

_READ_GROUP, _READ = needs(OffsetCommitRequest.API_KEY)

IDS_FROM = 10
"""The version that has ids of topics instead of names."""


Partition = tuple[int, OffsetCommitRequestTopic, int]
"""A partition as the request has it: the number of its topic, the topic, and its own number."""


def handle(request: OffsetCommitRequest, context: RequestContext, node: Node) -> Outcome:
    if not is_allowed(node, context, _READ_GROUP, request.group_id):
        raise ApiError(_READ_GROUP.refusal)
    by_id = context.authorizable.request_version >= IDS_FROM
    topics = named_topics(node, request.topics, by_id=by_id)
    names = [name for _, name, _ in topics if name is not None]
    allowed = allowed_names(node, context, _READ, names)
    refused: list[tuple[Partition, ErrorCode]] = []
    tried: list[tuple[Partition, OffsetCommitRequestPartition, StoredTopic]] = []
    for number, (asked, name, topic) in enumerate(topics):
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if name is None:
            error = ErrorCode.UNKNOWN_TOPIC_ID
        elif name not in allowed:
            error = _READ.refusal
        for row in asked.partitions:
            partition = number, asked, row.partition_index
            if name in allowed and topic and 0 <= row.partition_index < topic.partitions:
                tried.append((partition, row, topic))
            else:
                refused.append((partition, error))
    respond = partial(_respond, refused, [partition for partition, _, _ in tried])
    if not tried:
        return respond(())
    if node.coordinator_id != node.node_id:
        return respond([ErrorCode.NOT_COORDINATOR] * len(tried))
    member = Committer(
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
        context.authorizable.request_version,
    )
    offsets = [stored_offset(request.group_id, row, topic) for _, row, topic in tried]
    return Update.of_plan(
        UpdateOperation.OFFSETS,
        partial(_plan, member, offsets),
        context,
        respond,
        lambda code: [code] * len(offsets),
    )


def stored_offset(
    group_id: str,
    asked: OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition,
    topic: StoredTopic,
) -> StoredOffset:
    """Return the row of an offset that a request commits."""
    return StoredOffset(
        group_id,
        partition_text(topic.name, asked.partition_index),
        topic.topic_id,
        asked.committed_offset,
        asked.committed_leader_epoch,
        asked.committed_metadata or "",
    )


def _plan(
    by: Committer, rows: Sequence[StoredOffset], state: State
) -> Slices[tuple[Change, list[ErrorCode]]]:
    group = state.groups.get(rows[0].group_id)
    return plan_commit(state.offsets, group, by, rows)


def _respond(
    refused: Sequence[tuple[Partition, ErrorCode]],
    tried: Sequence[Partition],
    codes: Sequence[ErrorCode],
) -> OffsetCommitResponse:
    """Return the response; a topic that occurs twice has one row if a partition is refused."""
    # A broker merges the coordinator's response into that of the refusals if there are any.
    is_merged = bool(refused)
    topics: dict[tuple[int, str, bytes], list[OffsetCommitResponsePartition]] = {}
    for (number, topic, index), code in (*refused, *zip(tried, codes, strict=True)):
        row = OffsetCommitResponsePartition(partition_index=index, error_code=code.value)
        key = 0 if is_merged else number, topic.name, topic.topic_id
        topics.setdefault(key, []).append(row)
    return OffsetCommitResponse(
        topics=tuple(
            OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=tuple(rows))
            for (_, name, topic_id), rows in topics.items()
        )
    )


API = declare(OffsetCommitRequest, handle, refuse_rows(OffsetCommitResponse, no_text))
