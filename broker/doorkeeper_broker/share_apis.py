"""ShareGroupHeartbeat (76), version 1: the members of share groups (KIP-932).

Needs READ on the group (30), then DESCRIBE on all topics that the member names (29). A member id is
the client's own, of 1 to 36 characters, else 42.

    epoch 0     joins: with topics
    epoch -1    leaves; what the member has acquired is released
    others      the epoch of the member, which is 110 if it is another one: the member joins anew

A group that does not exist, or is of another type, is 69; an unknown member 25, one too many 81.

Source: ``KafkaApis``, ``GroupCoordinatorService`` and ``GroupMetadataManager`` of the broker 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.permissions import allowed_names, is_allowed, needs
from doorkeeper.server.config.test_broker_keys import GROUP_SHARE_MAX_SIZE
from doorkeeper_broker.consumer_apis import by_topic, is_blank
from doorkeeper_broker.consumer_member import JOIN, LEAVE, Beat, GroupLimits
from doorkeeper_broker.group_settings import group_number
from doorkeeper_broker.share_group import ShareGroup
from doorkeeper_wire.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.api.node import Node
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper_broker.consumer_member import BeatAnswer
    from doorkeeper_broker.coordinator import Coordinator

_READ, _DESCRIBE = needs(ShareGroupHeartbeatRequest.API_KEY)

MEMBER_ID_MAX: Final = 36


class ShareApis:
    """The handler of the members of share groups."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    def apis(self) -> tuple[Api, ...]:
        refuse = refuse_as(ShareGroupHeartbeatResponse)
        return (declare(ShareGroupHeartbeatRequest, self.heartbeat, refuse),)

    def heartbeat(
        self, request: ShareGroupHeartbeatRequest, context: RequestContext, node: Node
    ) -> ShareGroupHeartbeatResponse:
        """Let a member join, go on or leave.

        Raises:
            ApiError: see the module.
        """
        group_id = request.group_id
        if not is_allowed(node, context, _READ, group_id):
            raise ApiError(_READ.refusal)
        check_member_id(request.member_id)
        topics = sorted(set(request.subscribed_topic_names or ()))
        if len(allowed_names(node, context, _DESCRIBE, topics)) < len(topics):
            raise ApiError(_DESCRIBE.refusal)
        _check(request)
        group = self._group(request, node)
        group.deliveries_max = group_number(node, group_id, "share.delivery.count.limit")
        try:
            answer = self._beat(group, request, context, node)
        finally:
            if group.is_visible:
                self._coordinator.update(group)
            else:
                self._coordinator.forget(group_id)
        interval_ms = group_number(node, group_id, "share.heartbeat.interval.ms")
        return ShareGroupHeartbeatResponse(
            member_id=answer.member_id,
            member_epoch=answer.epoch,
            heartbeat_interval_ms=0 if answer.epoch < 0 else interval_ms,
            assignment=_assignment(answer),
        )

    def _group(self, request: ShareGroupHeartbeatRequest, node: Node) -> ShareGroup:
        group = self._coordinator.find(request.group_id, ShareGroup)
        if group is not None:
            return group
        if request.group_id in node.groups:
            text = f"Group {request.group_id} is not a share group."
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, text)
        if request.member_epoch != JOIN:
            text = f"Share group {request.group_id} not found."
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, text)
        return self._coordinator.create(request.group_id, ShareGroup)

    @staticmethod
    def _beat(
        group: ShareGroup,
        request: ShareGroupHeartbeatRequest,
        context: RequestContext,
        node: Node,
    ) -> BeatAnswer:
        if request.member_epoch == LEAVE:
            return group.leave(request.member_id, request.member_epoch)
        names = request.subscribed_topic_names
        beat = Beat(
            member_id=request.member_id,
            epoch=request.member_epoch,
            rack_id=request.rack_id,
            topics=None if names is None else frozenset(names),
            client_id=context.authorizable.client_id,
            client_host=f"/{context.authorizable.client_address}",
        )
        limits = GroupLimits(
            node.settings[GROUP_SHARE_MAX_SIZE],
            group_number(node, group.group_id, "share.session.timeout.ms"),
        )
        return group.heartbeat(beat, node.topics, limits, node.now_ms())


def check_member_id(member_id: str | None) -> None:
    """Check the id that a member of a share group gives itself.

    Raises:
        ApiError: it is empty or too long.
    """
    if not member_id or len(member_id) > MEMBER_ID_MAX:
        raise ApiError(ErrorCode.INVALID_REQUEST)


def _check(request: ShareGroupHeartbeatRequest) -> None:
    is_joining = request.member_epoch == JOIN
    texts = {
        "MemberId can't be empty.": is_blank(request.member_id),
        "GroupId can't be empty.": is_blank(request.group_id),
        "RackId can't be empty.": is_blank(request.rack_id),
        "SubscribedTopicNames must be set in first request.": is_joining
        and not request.subscribed_topic_names,
        "MemberEpoch is invalid.": request.member_epoch < LEAVE,
    }
    for text, is_wrong in texts.items():
        if is_wrong:
            raise ApiError(ErrorCode.INVALID_REQUEST, text)


def _assignment(answer: BeatAnswer) -> Assignment | None:
    if answer.assignment is None:
        return None
    return Assignment(
        topic_partitions=tuple(
            TopicPartitions(topic_id=topic_id, partitions=tuple(indexes))
            for topic_id, indexes in by_topic(answer.assignment).items()
        )
    )
