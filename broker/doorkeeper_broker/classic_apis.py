"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: the members of classic groups.

Each needs READ on the group (30). An empty group id is 24. A share group cannot be joined (23); in
one of the newer protocol consumers are members too, see ``classic_members``. A member of a group
that does not exist is 25.

    JoinGroup 0-9     session time-outs out of ``group.{min,max}.session.timeout.ms`` are 26, and a
                      member beyond ``group.max.size`` 81; from version 4 on a new member joins a
                      second time with the id that it gets (79)
    SyncGroup 0-5     from version 5 on with type and name of the protocol, else 23
    Heartbeat 0-4     27 asks the member to join again
    LeaveGroup 0-5    from version 3 on several members, with an error for each

The first rebalance of a group waits for further members where
``group.initial.rebalance.delay.ms`` is set.

Source: ``KafkaApis`` and ``GroupCoordinatorService`` of the broker 4.3.1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from msgspec.structs import replace

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api import join_group, leave_group
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import DelayedResponse, Outcome, Response
from doorkeeper.server.api.permissions import allowed_names, is_allowed, needs
from doorkeeper.server.config.test_broker_keys import (
    GROUP_CONSUMER_MAX_SIZE,
    GROUP_INITIAL_REBALANCE_DELAY_MS,
    GROUP_MAX_SESSION_TIMEOUT_MS,
    GROUP_MAX_SIZE,
    GROUP_MIN_SESSION_TIMEOUT_MS,
)
from doorkeeper_broker import classic_members
from doorkeeper_broker.classic_group import (
    SIZE_MAX,
    ClassicGroup,
    Join,
    JoinAnswer,
    Sync,
    SyncAnswer,
)
from doorkeeper_broker.consumer_apis import DESCRIBE_MATCHED
from doorkeeper_broker.consumer_group import ConsumerGroup
from doorkeeper_broker.consumer_member import GroupLimits
from doorkeeper_wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from doorkeeper_wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from doorkeeper_wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.api.node import Node, Outcome
    from doorkeeper.server.api.permissions import Need
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper_broker.coordinator import Coordinator
    from doorkeeper_wire.messages.leave_group import (
        LeaveGroupRequest,
        LeaveGroupResponse,
        MemberIdentity,
    )


T = TypeVar("T")


class Answer(Generic[T]):
    """The answer of a state machine, now or later: a request whose answer is missing waits."""

    def __init__(self) -> None:
        self._found: T | None = None
        self._waiting: asyncio.Future[T] | None = None

    def take(self, answer: T) -> None:
        """Take the answer; a second one is ignored, and so is one that nothing waits for."""
        if self._waiting is None:
            self._found = answer
        elif not self._waiting.done():
            self._waiting.set_result(answer)

    def outcome(self, respond: Callable[[T], Response]) -> Outcome:
        """Return the response if the answer is there, else one that waits for it."""
        if self._found is not None:
            return respond(self._found)
        self._waiting = asyncio.get_running_loop().create_future()
        return DelayedResponse(_respond(self._waiting, respond))


async def _respond(waiting: asyncio.Future[T], respond: Callable[[T], Response]) -> Response:
    return respond(await waiting)


_JOIN, _SYNC, _HEARTBEAT = (
    needs(request.API_KEY)[0] for request in (JoinGroupRequest, SyncGroupRequest, HeartbeatRequest)
)

KNOWN_ID_FROM: Final = 4
SKIP_ASSIGNMENT_FROM: Final = 9
PROTOCOL_FROM: Final = 5


class ClassicApis:
    """The handlers of classic groups."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    def apis(self) -> tuple[Api, ...]:
        return (
            replace(join_group.API, handle=self.join),
            declare(SyncGroupRequest, self.sync, refuse_as(SyncGroupResponse)),
            declare(HeartbeatRequest, self.heartbeat, refuse_as(HeartbeatResponse)),
            replace(leave_group.API, handle=self.leave),
        )

    def join(self, request: JoinGroupRequest, context: RequestContext, node: Node) -> Outcome:
        """Join a group; the answer comes when the rebalance ends."""
        version = context.authorizable.request_version
        error = _error_of(request.group_id, context, node, _JOIN)
        low = node.settings[GROUP_MIN_SESSION_TIMEOUT_MS]
        high = node.settings[GROUP_MAX_SESSION_TIMEOUT_MS]
        if error is ErrorCode.NONE and not low <= request.session_timeout_ms <= high:
            return join_group.refusal(version, ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id)
        if error is ErrorCode.NONE:
            error = self._join_error(request)
        if error is not ErrorCode.NONE:
            is_known = error is not _JOIN.refusal
            return join_group.refusal(version, error, request.member_id if is_known else "")
        wait = Answer[JoinAnswer]()
        rebalance_timeout_ms = request.rebalance_timeout_ms
        prefix = request.group_instance_id or context.authorizable.client_id
        join = Join(
            member_id=request.member_id,
            new_id=self._coordinator.new_member_id(prefix),
            instance_id=request.group_instance_id,
            client_id=context.authorizable.client_id,
            client_host=f"/{context.authorizable.client_address}",
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=(
                request.session_timeout_ms if rebalance_timeout_ms < 0 else rebalance_timeout_ms
            ),
            protocol_type=request.protocol_type,
            protocols=tuple((each.name, each.metadata) for each in request.protocols),
            requires_known_id=version >= KNOWN_ID_FROM,
            can_skip_assignment=version >= SKIP_ASSIGNMENT_FROM,
            answer=wait.take,
            size_max=min(node.settings[GROUP_MAX_SIZE], SIZE_MAX),
            initial_delay_ms=_initial_delay_ms(node),
        )
        self._join(request.group_id, join, context, node)
        return wait.outcome(lambda answer: _join_response(answer, version))

    def _join(self, group_id: str, join: Join, context: RequestContext, node: Node) -> None:
        newer = self._coordinator.find(group_id, ConsumerGroup)
        if newer is None or not newer.has_members:
            group = self._coordinator.create(group_id, ClassicGroup)
            group.join(join, node.now_ms())
            self._coordinator.update(group)
            return
        describable = partial(allowed_names, node, context, DESCRIBE_MATCHED)
        limits = GroupLimits(node.settings[GROUP_CONSUMER_MAX_SIZE], join.session_timeout_ms)
        classic_members.join(newer, join, node.topics, describable, limits, node.now_ms())
        self._coordinator.update(newer)

    def _join_error(self, request: JoinGroupRequest) -> ErrorCode:
        newer = self._coordinator.find(request.group_id, ConsumerGroup)
        if newer is not None and newer.has_members:
            return ErrorCode.NONE
        if self._coordinator.is_of_other_kind(request.group_id, ClassicGroup):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if request.member_id and self._coordinator.find(request.group_id, ClassicGroup) is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE

    def sync(self, request: SyncGroupRequest, context: RequestContext, node: Node) -> Outcome:
        """Hand in assignments; the answer comes when the leader has done so."""
        if context.authorizable.request_version >= PROTOCOL_FROM and None in (
            request.protocol_type,
            request.protocol_name,
        ):
            return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL.value)
        error = _error_of(request.group_id, context, node, _SYNC)
        group = self._group(request.group_id)
        if error is ErrorCode.NONE and group is None:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if error is not ErrorCode.NONE or group is None:
            return SyncGroupResponse(error_code=error.value)
        wait = Answer[SyncAnswer]()
        sync = Sync(
            request.member_id,
            request.group_instance_id,
            request.generation_id,
            request.protocol_type,
            request.protocol_name,
            {each.member_id: each.assignment for each in request.assignments},
            wait.take,
        )
        if isinstance(group, ConsumerGroup):
            classic_members.sync(group, sync, node.now_ms())
        else:
            group.sync(sync, node.now_ms())
        self._coordinator.update(group)
        return wait.outcome(_sync_response)

    def heartbeat(
        self, request: HeartbeatRequest, context: RequestContext, node: Node
    ) -> HeartbeatResponse:
        """Extend the session of a member."""
        error = _error_of(request.group_id, context, node, _HEARTBEAT)
        group = self._group(request.group_id)
        if error is ErrorCode.NONE and group is None:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if error is ErrorCode.NONE and group is not None:
            member = request.member_id, request.group_instance_id, request.generation_id
            if isinstance(group, ConsumerGroup):
                error = classic_members.heartbeat(group, *member, node.now_ms())
            else:
                error = group.heartbeat(*member, node.now_ms())
            self._coordinator.update(group)
        return HeartbeatResponse(error_code=error.value)

    def leave(
        self, request: LeaveGroupRequest, context: RequestContext, node: Node
    ) -> LeaveGroupResponse:
        """Remove members, of groups that clients have joined too."""

        def leave(group_id: str, member: MemberIdentity) -> ErrorCode:
            group = self._group(group_id)
            if group is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            who = member.member_id, member.group_instance_id
            if isinstance(group, ConsumerGroup):
                error = classic_members.leave(group, *who)
            else:
                error = group.leave(*who, node.now_ms())
            self._coordinator.update(group)
            return error

        return leave_group.handle(request, context, node, leave)

    def _group(self, group_id: str) -> ClassicGroup | ConsumerGroup | None:
        """Return the group of a member of the classic protocol."""
        find = self._coordinator.find
        return find(group_id, ClassicGroup) or find(group_id, ConsumerGroup)


def _initial_delay_ms(node: Node) -> int:
    """Return how long a first rebalance waits: not at all, unless the key is set."""
    key = GROUP_INITIAL_REBALANCE_DELAY_MS
    return node.settings[key] if node.settings.values_of(key.name) else 0


def _error_of(group_id: str, context: RequestContext, node: Node, need: Need) -> ErrorCode:
    """Return why a group cannot be asked; NONE where it can."""
    if not is_allowed(node, context, need, group_id):
        return need.refusal
    return ErrorCode.NONE if group_id else ErrorCode.INVALID_GROUP_ID


def _join_response(answer: JoinAnswer, version: int) -> JoinGroupResponse:
    if answer.error is not ErrorCode.NONE:
        return join_group.refusal(version, answer.error, answer.member_id)
    return JoinGroupResponse(
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol,
        leader=answer.leader,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=tuple(
            JoinGroupResponseMember(
                member_id=each.member_id,
                group_instance_id=each.instance_id,
                metadata=each.metadata,
            )
            for each in answer.members
        ),
    )


def _sync_response(answer: SyncAnswer) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_code=answer.error.value,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol,
        assignment=answer.assignment,
    )
