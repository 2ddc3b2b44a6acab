"""ListGroups (16), versions 0-5: the groups, on the one node of a cluster that has them.

DESCRIBE on the cluster shows all groups, else DESCRIBE on each shows that one; other groups are
left out without an error or a line in the authorizer log.

    v3  flexible     v4  states, and a filter by state (KIP-518)
    v5  types, and a filter by type (KIP-848)

Filters ignore case; a state or type that does not exist matches nothing. Groups are sorted by id.

Source: ``handleListGroupsRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper.server.resources.cluster import Group
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

_DESCRIBE_CLUSTER, _DESCRIBE = needs(ListGroupsRequest.API_KEY)


def handle(request: ListGroupsRequest, context: RequestContext, node: Node) -> ListGroupsResponse:
    # The cluster is asked first; without it each group, and only those that the filters select.
    shows_all = is_allowed(node, context, _DESCRIBE_CLUSTER)
    states = {state.lower() for state in request.states_filter}
    types = {group_type.lower() for group_type in request.types_filter}
    selected = (
        group
        for group in sorted(node.groups.values(), key=lambda group: group.group_id)
        if (not states or group.state.lower() in states)
        and (not types or group.group_type.lower() in types)
    )
    return ListGroupsResponse(
        groups=tuple(
            _row(group)
            for group in selected
            if shows_all or is_allowed(node, context, _DESCRIBE, group.group_id)
        )
    )


def _row(group: Group) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=group.protocol_type,
        group_state=group.state,
        group_type=group.group_type,
    )


API = declare(ListGroupsRequest, handle, refuse_as(ListGroupsResponse))
