"""Plans that commit and delete offsets, and delete groups.

Members are those of declared groups, and with the test broker those that have joined. A broker
checks them in this order.

Source: ``OffsetMetadataManager``, ``ClassicGroup`` and ``ConsumerGroup`` (4.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.slices import parts
from doorkeeper.server.resources.groups.table import (
    deletion,
    partition_text,
    row_without_partition,
    size_of,
)
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import OFFSET
from doorkeeper_wire.consumer_protocol import decode_subscription
from doorkeeper_wire.errors import Malformed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from doorkeeper.base.slices import Slices
    from doorkeeper.server.resources.cluster import Group, GroupMember
    from doorkeeper.server.resources.groups.table import Offsets
    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.schema.declared import StoredOffset

METADATA_MAX: Final = 4096
"""UTF-16 code units of the text of an offset: the default of ``offset.metadata.max.bytes``."""

SIZE_MAX: Final = 33_554_432
"""The sum of the sizes of all rows: some 100,000 offsets, as many as one request may name. A broker
has no bound, but deletes old offsets; here each is kept in memory until its topic or group is
deleted."""

GROUPS_MAX: Final = 10_000
"""The number of groups with offsets: ListGroups lists all of them in some 20 ms."""

EMPTY: Final = "Empty"
DEAD: Final = "Dead"
COMPLETING_REBALANCE: Final = "CompletingRebalance"
CONSUMER: Final = "consumer"


class Committer(NamedTuple):
    """What a commit says of the member that makes it. Without one ``epoch`` is negative."""

    member_id: str
    instance_id: str | None
    epoch: int
    version: int
    is_transactional: bool = False


def check_committer(group: Group | None, by: Committer) -> None:
    """Check that a member may commit offsets of a group.

    Raises:
        ApiError: it may not.

    """
    if group is None:
        if by.epoch >= 0:
            # GROUP_ID_NOT_FOUND came to this API with version 9 (KIP-848).
            is_new = by.version >= 9
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND if is_new else ErrorCode.ILLEGAL_GENERATION)
        return
    if group.group_type == CONSUMER:
        if by.epoch >= 0 or group.members:
            _check_epoch(group, by)
        return
    if group.state == DEAD:
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if by.epoch < 0 and group.state == EMPTY:
        return
    if by.instance_id is not None:
        _check_instance(group.members, by.instance_id, by.member_id)
    _find_member(group.members, by.member_id)
    # A declared group has no generation that a client could know.
    if by.epoch != group.generation:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION)
    if group.state == COMPLETING_REBALANCE:
        raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)


def _check_epoch(group: Group, by: Committer) -> None:
    member = _find_member(group.members, by.member_id)
    # Epochs came to this API with version 9 (KIP-848).
    if by.version < 9 and not by.is_transactional:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    if by.epoch != member.newer.epoch:
        # TxnOffsetCommit has no error of its own for epochs.
        is_known = not by.is_transactional
        raise ApiError(ErrorCode.STALE_MEMBER_EPOCH if is_known else ErrorCode.ILLEGAL_GENERATION)


def _find_member(members: Iterable[GroupMember], member_id: str) -> GroupMember:
    for member in members:
        if member.member_id == member_id:
            return member
    raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)


def _check_instance(members: Iterable[GroupMember], instance_id: str, member_id: str) -> None:
    for member in members:
        if member.group_instance_id == instance_id and member.member_id != member_id:
            raise ApiError(ErrorCode.FENCED_INSTANCE_ID)


def plan_commit(
    offsets: Offsets, group: Group | None, by: Committer, rows: Sequence[StoredOffset]
) -> Slices[tuple[Change, list[ErrorCode]]]:
    """Return the change, and an error or NONE for each row in order; all rows are of one group.

    Of two rows of one partition the last counts.

    Raises:
        ApiError: nothing can be committed.

    """
    check_committer(group, by)
    present = offsets.of_group(rows[0].group_id)
    if not present and len(offsets.groups()) >= GROUPS_MAX:
        return {}, [ErrorCode.INVALID_COMMIT_OFFSET_SIZE] * len(rows)
    set_: dict[str, StoredOffset] = {}
    errors: list[ErrorCode] = []
    size = offsets.size
    for part in parts(rows):
        for row in part:
            old = set_.get(row.partition) or present.get(row.partition)
            after = size + size_of(row) - (0 if old is None else size_of(old))
            if _is_too_long(row.metadata):
                errors.append(ErrorCode.OFFSET_METADATA_TOO_LARGE)
            elif after > SIZE_MAX:
                errors.append(ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
            else:
                size = after
                set_[row.partition] = row
                errors.append(ErrorCode.NONE)
        yield
    changed = [row for row in set_.values() if present.get(row.partition) != row]
    # A broker creates the group before it checks the texts.
    if group is None and not set_ and ErrorCode.OFFSET_METADATA_TOO_LARGE in errors:
        bare = row_without_partition(rows[0].group_id)
        changed = [bare] if size + size_of(bare) <= SIZE_MAX else []
    return edit(OFFSET, set=changed), errors


def _is_too_long(metadata: str) -> bool:
    # A character has one or two code units; most texts are short.
    return (
        len(metadata) > METADATA_MAX // 2
        and len(metadata.encode("utf-16-le", "surrogatepass")) // 2 > METADATA_MAX
    )


def plan_deletion(
    offsets: Offsets, group: Group | None, group_id: str, asked: Sequence[tuple[str, int]]
) -> Slices[tuple[Change, list[ErrorCode]]]:
    """Return the change that deletes offsets, and an error or NONE for each partition in order.

    A partition without an offset is no error; one of a topic that a member subscribes to is.

    Raises:
        ApiError: there is no such group, or it has members of another protocol.

    """
    if group is None or group.state == DEAD:
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND)
    is_consumer = CONSUMER in (group.group_type, group.protocol_type)
    if group.members and not is_consumer:
        raise ApiError(ErrorCode.NON_EMPTY_GROUP)
    subscribed = _subscribed_topics(group.members)
    rows = offsets.of_group(group_id)
    gone: dict[str, StoredOffset] = {}
    errors: list[ErrorCode] = []
    for part in parts(asked):
        for topic, index in part:
            if subscribed is None or topic in subscribed:
                errors.append(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
                continue
            row = rows.get(partition_text(topic, index))
            if row is not None:
                gone[row.partition] = row
            errors.append(ErrorCode.NONE)
        yield
    return deletion(offsets, gone.values()), errors


def _subscribed_topics(members: Iterable[GroupMember]) -> set[str] | None:
    """Return the topics that members subscribe to; None, all of them, if one cannot be read."""
    topics: set[str] = set()
    for member in members:
        try:
            topics.update(decode_subscription(member.metadata).topics)
        except Malformed:
            return None
        topics |= member.newer.matched
    return topics


def plan_group_deletion(
    offsets: Offsets,
    groups: Mapping[str, Group],
    group_ids: Sequence[str],
    declared: Mapping[str, Group],
) -> Slices[tuple[Change, list[ErrorCode]]]:
    """Return the change that deletes groups, and an error or NONE for each in order.

    A declared group is refused by the rule for declared topics.
    """
    errors: list[ErrorCode] = []
    gone: list[StoredOffset] = []
    for part in parts(group_ids):
        for group_id in part:
            error = _error_of_deletion(groups.get(group_id), is_declared=group_id in declared)
            errors.append(error)
            if error is ErrorCode.NONE:
                gone += offsets.of_group(group_id).values()
        yield
    return edit(OFFSET, deleted=gone), errors


def _error_of_deletion(group: Group | None, *, is_declared: bool) -> ErrorCode:
    if group is None or group.state == DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.members or group.state != EMPTY:
        return ErrorCode.NON_EMPTY_GROUP
    return ErrorCode.POLICY_VIOLATION if is_declared else ErrorCode.NONE
