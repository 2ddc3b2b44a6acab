"""What ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe share.

Needs DESCRIBE on each group (30). The groups without it come first; then those with an empty id,
which are 24; then the others in the order of the request. A group that does not exist, or is of
another type, is 69 with a text. One node of a cluster shows groups; the others answer 16 for each.

Source: ``GroupCoordinatorService`` and ``GroupMetadataManager`` (4.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from doorkeeper.base.errors import ErrorCode, answer_of
from doorkeeper.server.api.permissions import is_allowed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from doorkeeper.server.api.declaration import Refuse
    from doorkeeper.server.api.node import Node, Response
    from doorkeeper.server.api.permissions import Need
    from doorkeeper.server.resources.cluster import Group
    from doorkeeper.server.runtime.request_context import RequestContext


class FoundGroup(NamedTuple):
    """A group of a request: the group, or an error with its text."""

    group_id: str
    error: ErrorCode = ErrorCode.NONE
    text: str | None = None
    group: Group | None = None


def find_groups(
    group_ids: Iterable[str], group_type: str, need: Need, context: RequestContext, node: Node
) -> list[FoundGroup]:
    """Return each group of a request, in the order of the response."""
    refused, invalid, found = [], [], []
    for group_id in group_ids:
        if not is_allowed(node, context, need, group_id):
            refused.append(FoundGroup(group_id, need.refusal))
        elif not group_id:
            invalid.append(FoundGroup(group_id, ErrorCode.INVALID_GROUP_ID))
        elif node.coordinator_id != node.node_id:
            found.append(FoundGroup(group_id, ErrorCode.NOT_COORDINATOR))
        else:
            found.append(_of_type(group_id, group_type, node))
    return [*refused, *invalid, *found]


def _of_type(group_id: str, group_type: str, node: Node) -> FoundGroup:
    group = node.groups.get(group_id)
    if group is None:
        text = f"Group {group_id} not found."
    elif group.group_type != group_type:
        text = f"Group {group_id} is not a {group_type} group."
    else:
        return FoundGroup(group_id, group=group)
    return FoundGroup(group_id, ErrorCode.GROUP_ID_NOT_FOUND, text)


class _OfGroups(Protocol):
    """A request about groups."""

    group_ids: Sequence[str]


def refuse_groups(response: type[Any], row: type[Any]) -> Refuse:
    """Return a ``refuse`` that answers the same error for every group, without a text."""

    def refuse(request: _OfGroups, version: int, error: BaseException) -> Response:
        code, _ = answer_of(error)
        rows = (row(error_code=code.value, group_id=each) for each in request.group_ids)
        built: Response = response(groups=tuple(rows))
        return built

    return refuse
