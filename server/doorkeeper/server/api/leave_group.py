"""LeaveGroup (13), versions 0-5: takes members out of a group.

Needs READ on the group (30). Without the test broker groups cannot be joined, so that each member
is unknown (25), and so are those of a group that does not exist. An empty group id is 24. Nodes
other than the coordinator answer 16.

    v0-2  one member, whose code is that of the response     v3  several, each with its code

Source: ``handleLeaveGroupRequest``, ``GroupMetadataManager.classicGroupLeave`` and
``LeaveGroupResponse`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Callable

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

(_READ,) = needs(LeaveGroupRequest.API_KEY)

OF_SEVERAL = 3
"""The first version that names several members."""


Leave = Callable[[str, MemberIdentity], ErrorCode]
"""Removes a member of a group that clients have joined; returns the error, or NONE."""


def _is_unknown(group_id: str, member: MemberIdentity) -> ErrorCode:
    return ErrorCode.UNKNOWN_MEMBER_ID


def handle(
    request: LeaveGroupRequest, context: RequestContext, node: Node, leave: Leave = _is_unknown
) -> LeaveGroupResponse:
    if not is_allowed(node, context, _READ, request.group_id):
        raise ApiError(_READ.refusal)
    if not request.group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    if node.coordinator_id != node.node_id:
        raise ApiError(ErrorCode.NOT_COORDINATOR)
    if context.authorizable.request_version < OF_SEVERAL:
        code = leave(request.group_id, MemberIdentity(member_id=request.member_id))
        return LeaveGroupResponse(error_code=code.value)
    return LeaveGroupResponse(
        members=tuple(
            MemberResponse(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                error_code=leave(request.group_id, member).value,
            )
            for member in request.members
        )
    )


API = declare(LeaveGroupRequest, handle, refuse_as(LeaveGroupResponse))
