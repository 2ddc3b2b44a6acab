"""What ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe share.

Needs DESCRIBE on each group (30). The groups without it come first; then those with an empty id,
which are 24; then the others in the order of the request. A group that does not exist, or is of
another type, is 69 with a text. One node of a cluster shows groups; the others answer 16 for each.

Source: ``GroupCoordinatorService`` and ``GroupMetadataManager`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from msgspec import Struct

from doorkeeper.acls.model import ResourceType
from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import Need, allowed_names, authorized_operations, is_allowed
from doorkeeper.server.resources.cluster import Group, GroupMember, Topic
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.consumer_protocol import decode_assignment, decode_subscription
from doorkeeper_wire.errors import Malformed

Row = TypeVar("Row", bound=Any)

_REFUSED_TOPICS: Final = (
    "The group has described topic(s) that the client is not authorized to describe."
)


class FoundGroup(Struct, frozen=True):
    """A group of a request: the group, or an error with its text."""

    group_id: str
    error: ErrorCode = ErrorCode.NONE
    text: str | None = None
    group: Group | None = None


def find_groups(
    group_ids: Iterable[str], group_type: str, need: Need, context: RequestContext, node: Node
) -> list[FoundGroup]:
    """Return each group of a request, in the order of the response."""
    refused, invalid, judged = [], [], []
    for group_id in group_ids:
        if not is_allowed(node, context, need, group_id):
            refused.append(FoundGroup(group_id, need.refusal))
        elif not group_id:
            invalid.append(FoundGroup(group_id, ErrorCode.INVALID_GROUP_ID))
        elif node.coordinator_id != node.node_id:
            judged.append(FoundGroup(group_id, ErrorCode.NOT_COORDINATOR))
        else:
            judged.append(_of_type(group_id, group_type, node))
    return [*refused, *invalid, *judged]


def _of_type(group_id: str, group_type: str, node: Node) -> FoundGroup:
    group = node.groups.get(group_id)
    if group is None:
        text = f"Group {group_id} not found."
    elif group.group_type != group_type:
        text = f"Group {group_id} is not a {group_type} group."
    else:
        return FoundGroup(group_id, group=group)
    return FoundGroup(group_id, ErrorCode.GROUP_ID_NOT_FOUND, text)


def row_of(
    row: Callable[..., Row], asked: FoundGroup, member: Callable[[GroupMember], object]
) -> Row:
    """Return the row of a group, of the class of an API; ``member`` makes those of its members."""
    group = asked.group
    if group is None:
        return row(error_code=asked.error.value, error_message=asked.text, group_id=asked.group_id)
    return row(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.generation or 0,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.protocol,
        members=tuple(map(member, group.members)),
    )


def authorize_rows(
    rows: Iterable[Row],
    topics_of: Callable[[Row], frozenset[str]],
    need: Need,
    context: RequestContext,
    node: Node,
    *,
    shows_operations: bool,
) -> tuple[Row, ...]:
    """Return described groups with masks; a group of topics that may not be described is refused.

    ``topics_of`` returns the topics that the members of a group have, or shall have.
    """
    described = list(rows)
    if shows_operations:
        shown = [row.group_id for row in described if not row.error_code]
        masks = authorized_operations(node, context, ResourceType.GROUP, shown)
        described = [
            row.replace(authorized_operations=masks[row.group_id]) if not row.error_code else row
            for row in described
        ]
    # Last, as on a broker: the topics of all groups are one question.
    topics = {name for row in described for name in topics_of(row)}
    allowed = allowed_names(node, context, need, sorted(topics))
    return tuple(
        row
        if topics_of(row) <= allowed
        else type(row)(
            error_code=need.refusal.value, error_message=_REFUSED_TOPICS, group_id=row.group_id
        )
        for row in described
    )


def subscription_of(data: bytes) -> tuple[str, ...]:
    """Return the topics of a member's metadata, sorted; none of bytes that are no subscription."""
    try:
        return tuple(sorted(set(decode_subscription(data).topics)))
    except Malformed:
        return ()


def assignment_of(data: bytes, node: Node) -> list[tuple[Topic, tuple[int, ...]]]:
    """Return the topics of an assignment that exist, with their partitions."""
    try:
        assigned = decode_assignment(data).assigned_partitions
    except Malformed:
        return []
    topics = ((row, node.topics.get(row.topic)) for row in assigned)
    return [(topic, row.partitions) for row, topic in topics if topic is not None]
