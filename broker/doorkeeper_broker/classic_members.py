"""Members of the classic protocol in a consumer group, while the group changes (KIP-848).

They join, synchronise and send heartbeats as ever, but none of them leads: the server assigns. The
generation of such a member is its epoch. Its time to join, or to synchronise after that, is its
time-out of rebalances.

Source: ``GroupMetadataManager.classicGroupJoinToConsumerGroup`` and its neighbours of Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.topics.table import Topics
from doorkeeper_broker.assignors import Partition, Partitions
from doorkeeper_broker.classic_group import Join, JoinAnswer, Sync, SyncAnswer
from doorkeeper_broker.consumer_group import ConsumerGroup
from doorkeeper_broker.consumer_member import JOIN, Beat, Consumer, GroupLimits, Stage
from doorkeeper_wire.consumer_protocol import decode_subscription
from doorkeeper_wire.errors import Malformed

CONSUMER: Final = "consumer"
"""The type of protocol of consumers, of either protocol."""


def join(
    group: ConsumerGroup,
    request: Join,
    topics: Topics,
    describable: Callable[[Sequence[str]], Collection[str]],
    limits: GroupLimits,
    now_ms: int,
) -> None:
    """Let a member join; it is answered at once."""
    names = {name for name, _ in request.protocols}
    if request.protocol_type != CONSUMER or not names & common_protocols(group, names):
        request.answer(JoinAnswer(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id))
        return
    if not request.member_id and request.instance_id is None and request.requires_known_id:
        request.answer(JoinAnswer(ErrorCode.MEMBER_ID_REQUIRED, request.new_id))
        return
    try:
        member = _joined(group, request, topics, describable, limits, now_ms)
    except ApiError as error:
        request.answer(JoinAnswer(error.code, request.member_id))
        return
    except Malformed:
        request.answer(JoinAnswer(ErrorCode.UNKNOWN_SERVER_ERROR, request.member_id))
        return
    # The member synchronises within this time.
    member.step_ends_ms = now_ms + request.rebalance_timeout_ms
    protocol = request.protocols[0][0]
    request.answer(JoinAnswer(ErrorCode.NONE, member.member_id, member.epoch, CONSUMER, protocol))


def common_protocols(group: ConsumerGroup, names: set[str]) -> set[str]:
    """Return the names that all members of the classic protocol know; without any, all."""
    for member in group.members:
        if member.classic is not None:
            names = names & {name for name, _ in member.classic.protocols}
    return names


def _joined(
    group: ConsumerGroup,
    request: Join,
    topics: Topics,
    describable: Callable[[Sequence[str]], Collection[str]],
    limits: GroupLimits,
    now_ms: int,
) -> Consumer:
    subscription = decode_subscription(request.protocols[0][1])
    owned = {row.topic: row.partitions for row in subscription.owned_partitions}
    beat = Beat(
        member_id=request.member_id or request.new_id,
        epoch=JOIN,
        instance_id=request.instance_id,
        rack_id=subscription.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=frozenset(subscription.topics),
        owned=partitions_of(owned, topics),
        client_id=request.client_id,
        client_host=request.client_host,
        classic=request,
    )
    limits = replace(limits, session_timeout_ms=request.session_timeout_ms)
    answer = group.heartbeat(beat, topics, describable, limits, now_ms)
    return group.find(answer.member_id, None)


def partitions_of(by_topic: Mapping[str, Sequence[int]], topics: Topics) -> Partitions:
    """Return the partitions of topics that exist, by their ids."""
    known = ((topics.get(name), numbers) for name, numbers in by_topic.items())
    return frozenset(
        Partition(topic.topic_id, number)
        for topic, numbers in known
        if topic is not None
        for number in numbers
    )


def sync(group: ConsumerGroup, request: Sync, now_ms: int) -> None:
    """Tell a member its partitions."""
    try:
        member = find(group, request.member_id, request.instance_id)
        _check_generation(member, request.generation)
        _check_protocol(member, request)
        if group.epoch > member.epoch and member.stage is not Stage.UNREVOKED:
            _wait_for_join(member, now_ms)
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)
    except ApiError as error:
        request.answer(SyncAnswer(error.code))
        return
    _extend(member, now_ms)
    member.step_ends_ms = None
    assignment = group.assignment_bytes(member.assigned)
    request.answer(SyncAnswer(ErrorCode.NONE, CONSUMER, _protocol(member), assignment))


def heartbeat(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int, now_ms: int
) -> ErrorCode:
    """Extend the session of a member; return whether it must join again."""
    try:
        member = find(group, member_id, instance_id)
        _check_generation(member, generation)
    except ApiError as error:
        return error.code
    _extend(member, now_ms)
    awaits = member.target - member.assigned
    is_released = member.stage is Stage.UNRELEASED and not awaits & group.owned()
    if member.epoch < group.epoch or member.stage is Stage.UNREVOKED or is_released:
        _wait_for_join(member, now_ms)
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def leave(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ErrorCode:
    """Remove a member; a static one may be named by its instance id alone."""
    if not member_id and instance_id is not None:
        owners = (each.member_id for each in group.members if each.instance_id == instance_id)
        member_id = next(owners, "")
    try:
        group.remove(find(group, member_id, instance_id))
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


def find(group: ConsumerGroup, member_id: str, instance_id: str | None) -> Consumer:
    """Return a member of the classic protocol.

    Raises:
        ApiError: there is none, or another one has its instance id now.
    """
    member = group.find(member_id, instance_id)
    if member.classic is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
    return member


def _check_generation(member: Consumer, generation: int) -> None:
    if generation != member.epoch:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION)


def _check_protocol(member: Consumer, request: Sync) -> None:
    for given, own in ((request.protocol_type, CONSUMER), (request.protocol, _protocol(member))):
        if given is not None and given != own:
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _protocol(member: Consumer) -> str:
    assert member.classic is not None, "it was found as one"
    return member.classic.protocols[0][0]


def _extend(member: Consumer, now_ms: int) -> None:
    assert member.classic is not None, "it was found as one"
    member.session_ends_ms = now_ms + member.classic.session_timeout_ms


def _wait_for_join(member: Consumer, now_ms: int) -> None:
    if member.step_ends_ms is None:
        member.step_ends_ms = now_ms + member.rebalance_timeout_ms
