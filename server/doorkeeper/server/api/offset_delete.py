"""OffsetDelete (47), version 0: deletes what a group has committed for partitions.

Needs DELETE on the group (30 for the whole request), then READ on each topic (29). A partition that
does not exist is 3; one without an offset is no error. A group that does not exist is 69 and an
empty id is 24, both for the whole request and without rows; 68 is that for a group with members
of another protocol than that of consumers. A topic that its members subscribe to is 86.

The group remains when its last offset is deleted. Nodes other than the coordinator answer 16.
Refused partitions come first.

Source: ``handleOffsetDeleteRequest`` and ``OffsetMetadataManager`` of the broker 4.3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node, Outcome, Update, UpdateOperation
from doorkeeper.server.api.permissions import allowed_names, is_allowed, needs
from doorkeeper.server.resources.groups import plan_deletion
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

_DELETE, _READ = needs(OffsetDeleteRequest.API_KEY)


def handle(request: OffsetDeleteRequest, context: RequestContext, node: Node) -> Outcome:
    if not is_allowed(node, context, _DELETE, request.group_id):
        raise ApiError(_DELETE.refusal)
    allowed = allowed_names(node, context, _READ, [topic.name for topic in request.topics])
    if not request.group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    if node.coordinator_id != node.node_id:
        raise ApiError(ErrorCode.NOT_COORDINATOR)
    refused: list[tuple[str, int, ErrorCode]] = []
    tried: list[tuple[str, int]] = []
    for asked in request.topics:
        topic = node.topics.get(asked.name)
        count = 0 if topic is None else topic.partitions
        for row in asked.partitions:
            index = row.partition_index
            if asked.name not in allowed:
                refused.append((asked.name, index, _READ.refusal))
            elif 0 <= index < count:
                tried.append((asked.name, index))
            else:
                refused.append((asked.name, index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    group_id = request.group_id
    return Update.of_plan(
        UpdateOperation.OFFSETS,
        lambda state: plan_deletion(state.offsets, state.groups.get(group_id), group_id, tried),
        context,
        partial(_respond, refused, tried),
    )


def _respond(
    refused: Sequence[tuple[str, int, ErrorCode]],
    asked: Sequence[tuple[str, int]],
    codes: Sequence[ErrorCode],
) -> OffsetDeleteResponse:
    topics: dict[str, list[OffsetDeleteResponsePartition]] = {}
    tried = ((name, index, code) for (name, index), code in zip(asked, codes, strict=True))
    for name, index, code in (*refused, *tried):
        row = OffsetDeleteResponsePartition(partition_index=index, error_code=code.value)
        topics.setdefault(name, []).append(row)
    return OffsetDeleteResponse(
        topics=tuple(
            OffsetDeleteResponseTopic(name=name, partitions=tuple(rows))
            for name, rows in topics.items()
        )
    )


API = declare(OffsetDeleteRequest, handle, refuse_as(OffsetDeleteResponse))
