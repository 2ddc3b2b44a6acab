"""What ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe share.

Needs DESCRIBE on each group (30). The groups without it come first; then those with an empty id,
which are 24; then the others in the order of the request. A group that does not exist, or is of
another type, is 69 with a text. One node of a cluster shows groups; the others answer 16 for each.
A group with members has one row, however often it is named.

Source: ``GroupCoordinatorService`` and ``GroupMetadataManager`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct

from doorkeeper.acls.model import ResourceType
from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import Api, declare, no_text, refuse_rows
from doorkeeper.server.api.node import Node, Response
from doorkeeper.server.api.permissions import (
    Need,
    allowed_names,
    authorized_operations,
    is_allowed,
    needs,
)
from doorkeeper.server.resources.cluster import GroupMember
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

T = TypeVar("T")

_REFUSED_TOPICS: Final = (
    "The group has described topic(s) that the client is not authorized to describe."
)


class TypedGroups(Struct, frozen=True):
    """The groups that one of these APIs describes.

    ``needed`` are the permissions on groups and on topics, ``response`` and ``row`` the classes of
    the API's response and its rows. ``member`` makes those of members.
    """

    group_type: str
    needed: Sequence[Need]
    response: Callable[..., Response]
    row: type[Any]
    member: Callable[[GroupMember, Node], object]

    def describe(self, request: OfGroups, context: RequestContext, node: Node) -> Response:
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
        topics = {name for row in rows for name in _topics_of(row)}
        allowed = allowed_names(node, context, on_topic, sorted(topics))
        return self.response(
            groups=tuple(
                row
                if _topics_of(row) <= allowed
                else self._refusal(row.group_id, on_topic.refusal, _REFUSED_TOPICS)
                for row in rows
            )
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


def declare_groups(
    group_type: str,
    request: type[Any],
    response: type[Any],
    row: type[Any],
    member: Callable[[GroupMember, Node], object],
    max_version: int | None = None,
) -> Api:
    """Return the API that describes the groups of a type."""
    groups = TypedGroups(group_type, needs(request.API_KEY), response, row, member)
    refuse = refuse_rows(response, no_text)
    return declare(request, groups.describe, refuse, max_version=max_version)


def _topics_of(row: Any) -> frozenset[str]:  # noqa: ANN401  of the class ``row``
    """Return the topics that the members of a group have or shall have."""
    return frozenset(
        part.topic_name
        for member in row.members
        for field in ("assignment", "target_assignment")
        if hasattr(member, field)
        for part in getattr(member, field).topic_partitions
    )


def subscription_of(data: bytes) -> tuple[str, ...]:
    """Return the topics of a member's metadata, sorted; none of bytes that are no subscription."""
    try:
        return tuple(sorted(set(decode_subscription(data).topics)))
    except Malformed:
        return ()


def assignment_of(data: bytes, node: Node, kind: Callable[..., T], row: type[Any]) -> T:
    """Return an assignment as an API has it, with ``row`` for each topic that exists."""
    try:
        assigned = decode_assignment(data).assigned_partitions
    except Malformed:
        assigned = ()
    topics = ((part, node.topics.get(part.topic)) for part in assigned)
    rows = (
        row(topic_id=topic.topic_id, topic_name=topic.name, partitions=part.partitions)
        for part, topic in topics
        if topic is not None
    )
    return kind(topic_partitions=tuple(rows))
