"""LeaveGroup (13), versions 0-5: takes members out of a group.

Needs READ on the group (30). Without the test broker groups cannot be joined, so that each member
is unknown (25), and so are those of a group that does not exist. Declared members stay (44,
POLICY_VIOLATION); one whose name is declared with another id is 82. An empty group id is 24. Nodes
other than the coordinator answer 16.

    v0-2  one member, whose code is that of the response     v3  several, each with its code

Source: ``handleLeaveGroupRequest``, ``GroupMetadataManager.classicGroupLeave`` and
``LeaveGroupResponse`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from doorkeeper.base.errors import ApiError, ErrorCode, answer_of
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper_wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.server.api.node import Node
    from doorkeeper.server.resources.cluster import GroupMember
    from doorkeeper.server.runtime.request_context import RequestContext

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
    group = node.groups.get(request.group_id)

    def code_of(member: MemberIdentity) -> ErrorCode:
        if group is not None and group.generation is None and group.members:
            return _code_of(member, group.members)
        return leave(request.group_id, member)

    if context.authorizable.request_version < OF_SEVERAL:
        code = code_of(MemberIdentity(member_id=request.member_id))
        return LeaveGroupResponse(error_code=code.value)
    return LeaveGroupResponse(
        members=tuple(
            MemberResponse(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                error_code=code_of(member).value,
            )
            for member in request.members
        )
    )


def _code_of(asked: MemberIdentity, declared: Sequence[GroupMember]) -> ErrorCode:
    """Return why a member stays."""
    for member in declared:
        if asked.group_instance_id is None:
            if member.member_id == asked.member_id:
                return ErrorCode.POLICY_VIOLATION
        elif member.group_instance_id == asked.group_instance_id:
            same = asked.member_id in ("", member.member_id)
            return ErrorCode.POLICY_VIOLATION if same else ErrorCode.FENCED_INSTANCE_ID
    return ErrorCode.UNKNOWN_MEMBER_ID


def refuse(
    request: LeaveGroupRequest,
    version: int,
    error: BaseException,
) -> LeaveGroupResponse:
    code, _ = answer_of(error)
    return LeaveGroupResponse(error_code=code.value)


API = declare(LeaveGroupRequest, handle, refuse)
