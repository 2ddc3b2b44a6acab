"""What ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe share.

Needs DESCRIBE on each group (30). The groups without it come first; then those with an empty id,
which are 24; then the others in the order of the request. A group that does not exist, or is of
another type, is 69 with a text. One node of a cluster shows groups; the others answer 16 for each.
A group with members has one row, however often it is named.

Source: ``GroupCoordinatorService`` and ``GroupMetadataManager`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from doorkeeper.acls.model import ResourceType
from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import Need, allowed_names, authorized_operations, is_allowed
from doorkeeper.server.resources.cluster import GroupMember, Topic
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.consumer_protocol import decode_assignment, decode_subscription
from doorkeeper_wire.errors import Malformed

if TYPE_CHECKING:
    from doorkeeper_wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
    from doorkeeper_wire.messages.share_group_describe import ShareGroupDescribeRequest
    from doorkeeper_wire.messages.streams_group_describe import StreamsGroupDescribeRequest

    OfGroups = (
        ConsumerGroupDescribeRequest | ShareGroupDescribeRequest | StreamsGroupDescribeRequest
    )

_REFUSED_TOPICS: Final = (
    "The group has described topic(s) that the client is not authorized to describe."
)


class TypedGroups(Struct, frozen=True):
    """The groups that one of these APIs describes.

    ``needed`` are the permissions on groups and on topics, ``row`` is the class of the API's rows.
    ``member`` makes those of members; ``topics_of`` returns the topics that the members of a group
    have, or shall have.
    """

    group_type: str
    needed: Sequence[Need]
    row: type[Any]
    member: Callable[[GroupMember, Node], object]
    topics_of: Callable[[Any], frozenset[str]]

    def describe(self, request: OfGroups, context: RequestContext, node: Node) -> tuple[Any, ...]:
        """Return a row for each group; one of topics that may not be described is refused."""
        on_group, on_topic = self.needed
        refused, invalid, judged = [], [], []
        described: set[str] = set()
        for group_id in request.group_ids:
            if not is_allowed(node, context, on_group, group_id):
                refused.append(self._refusal(group_id, on_group.refusal))
            elif not group_id:
                invalid.append(self._refusal(group_id, ErrorCode.INVALID_GROUP_ID))
            elif node.coordinator_id != node.node_id:
                judged.append(self._refusal(group_id, ErrorCode.NOT_COORDINATOR))
            elif group_id not in described:
                judged.append(row := self._row(group_id, node))
                # Members are sent once: a request may name a group a hundred thousand times.
                if row.members:
                    described.add(group_id)
        rows = [*refused, *invalid, *judged]
        if request.include_authorized_operations:
            shown = [row.group_id for row in rows if not row.error_code]
            masks = authorized_operations(node, context, ResourceType.GROUP, shown)
            rows = [
                row if row.error_code else row.replace(authorized_operations=masks[row.group_id])
                for row in rows
            ]
        # Last, as on a broker: the topics of all groups are one question.
        topics = {name for row in rows for name in self.topics_of(row)}
        allowed = allowed_names(node, context, on_topic, sorted(topics))
        return tuple(
            row
            if self.topics_of(row) <= allowed
            else self._refusal(row.group_id, on_topic.refusal, _REFUSED_TOPICS)
            for row in rows
        )

    def _row(self, group_id: str, node: Node) -> Any:  # noqa: ANN401  of the class ``row``
        group = node.groups.get(group_id)
        if group is None or group.group_type != self.group_type:
            is_not = "not found" if group is None else f"is not a {self.group_type} group"
            text = f"Group {group_id} {is_not}."
            return self._refusal(group_id, ErrorCode.GROUP_ID_NOT_FOUND, text)
        return self.row(
            group_id=group.group_id,
            group_state=group.state,
            group_epoch=group.generation or 0,
            assignment_epoch=group.assignment_epoch,
            assignor_name=group.protocol,
            members=tuple(self.member(member, node) for member in group.members),
        )

    def _refusal(self, group_id: str, code: ErrorCode, text: str | None = None) -> Any:  # noqa: ANN401
        return self.row(error_code=code.value, error_message=text, group_id=group_id)


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
