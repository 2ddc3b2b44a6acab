"""DeleteGroups (42), versions 0-2: deletes groups without members, with their offsets.

Needs DELETE on each group (30). A group that does not exist is 69, one with members 68. Nodes other
than the coordinator answer 16. A name that occurs twice has one row; refused groups come last.

    v2  flexible

Source: ``handleDeleteGroupsRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from doorkeeper.base.errors import ErrorCode
from doorkeeper.base.slices import counts
from doorkeeper.server.api.declaration import declare, no_text, refuse_rows
from doorkeeper.server.api.node import Node, Outcome, Update, UpdateOperation
from doorkeeper.server.api.permissions import allowed_names, needs
from doorkeeper.server.resources.groups import plan_group_deletion
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

(_DELETE,) = needs(DeleteGroupsRequest.API_KEY)


def handle(request: DeleteGroupsRequest, context: RequestContext, node: Node) -> Outcome:
    asked = list(counts(request.groups_names))
    allowed = allowed_names(node, context, _DELETE, asked)
    group_ids = [group_id for group_id in asked if group_id in allowed]
    refused = [_row(group_id, _DELETE.refusal) for group_id in asked if group_id not in allowed]
    respond = partial(_respond, group_ids, refused)
    if not group_ids:
        return respond(())
    if node.coordinator_id != node.node_id:
        return respond([ErrorCode.NOT_COORDINATOR] * len(group_ids))
    return Update.of_plan(
        UpdateOperation.OFFSETS,
        lambda state: plan_group_deletion(state.offsets, state.groups, group_ids),
        context,
        respond,
        lambda code: [code] * len(group_ids),
    )


def _respond(
    asked: Sequence[str], refused: Sequence[DeletableGroupResult], codes: Sequence[ErrorCode]
) -> DeleteGroupsResponse:
    tried = (_row(group_id, code) for group_id, code in zip(asked, codes, strict=True))
    return DeleteGroupsResponse(results=(*tried, *refused))


def _row(group_id: str, code: ErrorCode) -> DeletableGroupResult:
    return DeletableGroupResult(group_id=group_id, error_code=code.value)


API = declare(
    DeleteGroupsRequest, handle, refuse_rows(DeleteGroupsResponse, no_text), max_version=2
)
