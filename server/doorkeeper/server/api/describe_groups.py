"""DescribeGroups (15), versions 0-6: the state and the members of groups.

Needs DESCRIBE on each group. Groups without it come first, with 30 and nothing else; the others
follow in the order of the request. A group with members has one row, however often it is named.

    v3  masks of authorized operations     v4  instance ids of members     v5  flexible
    v6  a group that does not exist is 69 with a text; before, it is Dead with error 0 and a mask

One node of a cluster shows groups, and FindCoordinator names it; the others answer 16 for each.

A group that is not stable shows neither its protocol nor its members' metadata and assignments.

Only classic groups are described. Those of type ``consumer`` are answered like groups that do not
exist; ConsumerGroupDescribe (69) describes them.

Source: ``handleDescribeGroupsRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from doorkeeper.acls.model import ResourceType
from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import declare, no_text, refusal_of, refuse_rows
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import (
    OPERATIONS_NOT_COMPUTED,
    authorized_operations,
    is_allowed,
    needs,
)
from doorkeeper.server.resources.cluster import Group, GroupMember
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

(_DESCRIBE,) = needs(DescribeGroupsRequest.API_KEY)


def handle(
    request: DescribeGroupsRequest, context: RequestContext, node: Node
) -> DescribeGroupsResponse:
    version = context.authorizable.request_version
    allowed, refused = [], []
    for group_id in request.groups:
        if is_allowed(node, context, _DESCRIBE, group_id):
            allowed.append(group_id)
        else:
            refused.append(refusal_of(DescribedGroup, group_id, _DESCRIBE.refusal))
    # After the permissions: an unauthorized caller gets 30 on every node.
    if node.coordinator_id != node.node_id:
        elsewhere = [
            refusal_of(DescribedGroup, group_id, ErrorCode.NOT_COORDINATOR) for group_id in allowed
        ]
        return DescribeGroupsResponse(groups=(*refused, *elsewhere))

    masks: dict[str, int] = {}
    if version >= 3 and request.include_authorized_operations:
        # From version 6 on a group that is not found has no mask.
        asked = [name for name in allowed if version < 6 or _classic(name, node)]
        masks = authorized_operations(node, context, ResourceType.GROUP, asked)
    described = []
    shown: set[str] = set()
    for group_id in allowed:
        group = _classic(group_id, node)
        mask = masks.get(group_id, OPERATIONS_NOT_COMPUTED)
        if group is not None:
            # Members are sent once: a request may name a group a hundred thousand times.
            if not group.members or group_id not in shown:
                described.append(_describe(group, mask))
            shown.add(group_id)
        # GROUP_ID_NOT_FOUND came with version 6 (KIP-1043).
        elif version >= 6:
            reason = "is not a classic group" if group_id in node.groups else "not found"
            code, text = ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {reason}."
            row = refusal_of(DescribedGroup, group_id, code, text)
            described.append(row.replace(group_state="Dead"))
        else:
            described.append(
                DescribedGroup(group_id=group_id, group_state="Dead", authorized_operations=mask)
            )
    return DescribeGroupsResponse(groups=(*refused, *described))


def _classic(group_id: str, node: Node) -> Group | None:
    """Return a group of the classic protocol; None for any other."""
    group = node.groups.get(group_id)
    return None if group is None or group.group_type != "classic" else group


def _describe(group: Group, mask: int) -> DescribedGroup:
    settled = group.state == "Stable"
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        protocol_type=group.protocol_type,
        protocol_data=group.protocol if settled else "",
        members=tuple(_member(member, settled=settled) for member in group.members),
        authorized_operations=mask,
    )


def _member(member: GroupMember, *, settled: bool) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata if settled else b"",
        member_assignment=member.assignment if settled else b"",
    )


API = declare(DescribeGroupsRequest, handle, refuse_rows(DescribeGroupsResponse, no_text))
