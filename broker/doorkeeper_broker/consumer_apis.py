"""ConsumerGroupHeartbeat (68), versions 0-1: the members of groups of the newer protocol (KIP-848).

Needs READ on the group (30), then DESCRIBE on all topics that the member names (29). The topics of
its pattern are those that it may describe.

    epoch 0     joins: with a time-out of rebalances, topics or a pattern, and no partitions
    epoch -1    leaves; -2: a static member leaves for a time, and may come back under another id
    others      the epoch of the member, which is 110 if it is another one: the member joins anew

Where ``group.coordinator.rebalance.protocols`` has no ``consumer`` all requests are 35.

A classic group becomes one of the newer protocol when a member joins, and again a classic one when
the last such member has gone, if ``group.consumer.migration.policy`` allows it. A group that does
not exist, and one that cannot change, is 69. An unknown member is 25, an unknown
assignor 112, an instance id with a member 111, a pattern that cannot be read 128; a request that
does not fit is 42 with a text.

    v1  patterns; members choose their own ids

Source: ``KafkaApis``, ``GroupCoordinatorService`` and ``GroupMetadataManager`` of the broker 4.3.1.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.values import trim
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.permissions import allowed_names, is_allowed, needs
from doorkeeper.server.config.test_broker_keys import (
    GROUP_CONSUMER_MAX_SIZE,
    GROUP_CONSUMER_MIGRATION_POLICY,
    GROUP_COORDINATOR_REBALANCE_PROTOCOLS,
)
from doorkeeper_broker.assignors import ASSIGNORS, Partition
from doorkeeper_broker.classic_group import ClassicGroup
from doorkeeper_broker.consumer_group import ConsumerGroup
from doorkeeper_broker.consumer_member import (
    JOIN,
    LEAVE_FOR_A_TIME,
    Beat,
    BeatAnswer,
    GroupLimits,
)
from doorkeeper_broker.group_migration import UPGRADES, upgraded
from doorkeeper_broker.group_settings import group_number
from doorkeeper_wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.api.node import Node
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper_broker.assignors import Partitions
    from doorkeeper_broker.coordinator import Coordinator

_READ, _DESCRIBE = needs(ConsumerGroupHeartbeatRequest.API_KEY)
DESCRIBE_MATCHED = replace(_DESCRIBE, log_if_denied=False)
"""Of the topics of a pattern: a member is not refused those that it did not name."""

OWN_IDS_FROM: Final = 1
_PROTOCOL: Final = "consumer"


class ConsumerApis:
    """The handler of groups of the newer protocol."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    def apis(self) -> tuple[Api, ...]:
        refuse = refuse_as(ConsumerGroupHeartbeatResponse)
        return (declare(ConsumerGroupHeartbeatRequest, self.heartbeat, refuse),)

    def heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, context: RequestContext, node: Node
    ) -> ConsumerGroupHeartbeatResponse:
        """Let a member join, go on or leave.

        Raises:
            ApiError: see the module.
        """
        if _PROTOCOL not in node.settings[GROUP_COORDINATOR_REBALANCE_PROTOCOLS]:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
        if not is_allowed(node, context, _READ, request.group_id):
            raise ApiError(_READ.refusal)
        topics = sorted(set(request.subscribed_topic_names or ()))
        if len(allowed_names(node, context, _DESCRIBE, topics)) < len(topics):
            raise ApiError(_DESCRIBE.refusal)
        _check(request, context.authorizable.request_version)
        group = self._group(request, node)
        try:
            answer = self._beat(group, request, context, node)
        finally:
            if group.is_visible:
                self._coordinator.update(group)
            else:
                self._coordinator.forget(request.group_id)
        is_gone = answer.epoch < 0
        return ConsumerGroupHeartbeatResponse(
            member_id=answer.member_id,
            member_epoch=answer.epoch,
            heartbeat_interval_ms=0
            if is_gone
            else group_number(node, request.group_id, "consumer.heartbeat.interval.ms"),
            assignment=None if answer.assignment is None else _assignment(answer.assignment),
        )

    def _group(self, request: ConsumerGroupHeartbeatRequest, node: Node) -> ConsumerGroup:
        group_id = request.group_id
        if request.member_epoch == JOIN:
            self._upgrade(group_id, node)
        is_other = self._coordinator.is_of_other_kind(group_id, ConsumerGroup)
        if request.member_epoch != JOIN and self._coordinator.find(group_id, ConsumerGroup) is None:
            # A commit without members made a classic group, which only a joining member replaces.
            is_other = is_other or bool(node.state.offsets.of_group(group_id))
        if is_other:
            text = f"Group {group_id} is not a consumer group."
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, text)
        if request.member_epoch == JOIN:
            return self._coordinator.create(group_id, ConsumerGroup)
        group = self._coordinator.find(group_id, ConsumerGroup)
        if group is None:
            kind = "Group" if request.member_epoch < JOIN else "Consumer group"
            text = f"{kind} {group_id} not found."
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, text)
        return group

    def _upgrade(self, group_id: str, node: Node) -> None:
        """Let a classic group with members become one of the newer protocol, if it can."""
        group = self._coordinator.find(group_id, ClassicGroup)
        if group is None or not group.members:
            return
        settings = node.settings
        if settings[GROUP_CONSUMER_MIGRATION_POLICY] in UPGRADES:
            size_max = settings[GROUP_CONSUMER_MAX_SIZE]
            found = upgraded(group, node.topics, size_max, node.now_ms())
            if found is not None:
                self._coordinator.replace(found)

    def _beat(
        self,
        group: ConsumerGroup,
        request: ConsumerGroupHeartbeatRequest,
        context: RequestContext,
        node: Node,
    ) -> BeatAnswer:
        if request.member_epoch < 0:
            return group.leave(request.member_id, request.instance_id, request.member_epoch)
        names = request.subscribed_topic_names
        beat = Beat(
            member_id=request.member_id or self._coordinator.new_member_id("consumer"),
            epoch=request.member_epoch,
            instance_id=request.instance_id,
            rack_id=request.rack_id,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            topics=None if names is None else frozenset(names),
            pattern=request.subscribed_topic_regex,
            assignor=request.server_assignor,
            owned=_partitions_of(request),
            client_id=context.authorizable.client_id,
            client_host=f"/{context.authorizable.client_address}",
        )
        describable = partial(allowed_names, node, context, DESCRIBE_MATCHED)
        limits = GroupLimits(
            node.settings[GROUP_CONSUMER_MAX_SIZE],
            group_number(node, request.group_id, "consumer.session.timeout.ms"),
        )
        return group.heartbeat(beat, node.topics, describable, limits, node.now_ms())


def _check(request: ConsumerGroupHeartbeatRequest, version: int) -> None:
    """Check that the fields of a request fit.

    Raises:
        ApiError: they do not.
    """
    epoch = request.member_epoch
    texts = {
        "MemberId can't be empty.": is_blank(request.member_id)
        and (version >= OWN_IDS_FROM or epoch != JOIN),
        "GroupId can't be empty.": is_blank(request.group_id),
        "InstanceId can't be empty.": is_blank(request.instance_id),
        "RackId can't be empty.": is_blank(request.rack_id),
        "RebalanceTimeoutMs must be provided in first request.": epoch == JOIN
        and request.rebalance_timeout_ms == -1,
        "TopicPartitions must be empty when (re-)joining.": epoch == JOIN
        and request.topic_partitions != (),
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.": (
            epoch == JOIN
            and request.subscribed_topic_names is None
            and request.subscribed_topic_regex is None
        ),
        "InstanceId can't be null.": epoch == LEAVE_FOR_A_TIME and request.instance_id is None,
        "MemberEpoch is invalid.": epoch < LEAVE_FOR_A_TIME,
    }
    for text, is_wrong in texts.items():
        if is_wrong:
            raise ApiError(ErrorCode.INVALID_REQUEST, text)
    assignor = request.server_assignor
    if assignor is not None and assignor not in ASSIGNORS:
        raise ApiError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {assignor} is not supported. Supported assignors:"
            f" {', '.join(ASSIGNORS)}.",
        )


def is_blank(text: str | None) -> bool:
    """Return whether a text is there, and Java's ``trim`` leaves nothing of it."""
    return text is not None and not trim(text)


def _partitions_of(request: ConsumerGroupHeartbeatRequest) -> Partitions | None:
    if request.topic_partitions is None:
        return None
    return frozenset(
        Partition(row.topic_id, index)
        for row in request.topic_partitions
        for index in row.partitions
    )


def by_topic(partitions: Partitions) -> dict[bytes, list[int]]:
    """Return the numbers of partitions by the id of their topic, both sorted."""
    found: dict[bytes, list[int]] = {}
    for each in sorted(partitions):
        found.setdefault(each.topic_id, []).append(each.number)
    return found


def _assignment(partitions: Partitions) -> Assignment:
    return Assignment(
        topic_partitions=tuple(
            TopicPartitions(topic_id=topic_id, partitions=tuple(indexes))
            for topic_id, indexes in by_topic(partitions).items()
        )
    )
