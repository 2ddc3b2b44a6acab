"""Committed offsets of all groups at one moment, the groups that they make, and their plans.

A group without members exists while it has a row. When its last offset is deleted, a row without a
partition keeps it, as a broker keeps the group. Snapshots share structure; a change of a row costs
O(log n).

Plans commit and delete offsets, and delete groups. Only with the test broker groups have members.
A broker checks them in this order.

Source: ``OffsetMetadataManager``, ``ClassicGroup`` and ``ConsumerGroup`` (4.3.1).
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Self

import immutables
from msgspec import Struct

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.slices import Slices, parts
from doorkeeper.server.resources.cluster import Group, GroupMember
from doorkeeper.server.resources.nested_maps import ChangingMaps
from doorkeeper.server.schema.change import Change, edit
from doorkeeper.server.schema.declared import OFFSET, StoredOffset, StoredTopic
from doorkeeper_wire.consumer_protocol import decode_subscription
from doorkeeper_wire.errors import Malformed

NO_GROUPS: Final[Mapping[str, Group]] = {}

ROW_SIZE: Final = 256
"""What a row counts for, besides its texts; about the bytes of its objects."""

_NONE: Final[immutables.Map[str, StoredOffset]] = immutables.Map()


def partition_text(topic: str, index: int) -> str:
    """Return the name of a partition as stores keep it, such as ``orders-0``."""
    return f"{topic}-{index}"


def topic_of(row: StoredOffset) -> str:
    """Return the topic of a row; empty for a row without a partition."""
    return row.partition.rpartition("-")[0]


def index_of(row: StoredOffset) -> int:
    """Return the number of the partition of a row that has one."""
    return int(row.partition.rpartition("-")[2])


def is_of(row: StoredOffset, topic: StoredTopic | None) -> bool:
    """Return whether an offset belongs to a topic, and not to an earlier one of its name."""
    return topic is not None and row.topic_id == topic.topic_id


def row_without_partition(group_id: str) -> StoredOffset:
    """Return the row of a group that has no offset."""
    return StoredOffset(group_id, "", b"", 0, -1, "")


def size_of(row: StoredOffset) -> int:
    """Return what a row counts for in the limit on all rows."""
    return ROW_SIZE + len(row.group_id) + len(row.partition) + len(row.metadata)


class Offsets(Struct, frozen=True, eq=False):
    """The committed offsets; immutable. ``size`` is the sum of what the rows count for."""

    # The inner maps are never empty.
    _by_group: immutables.Map[str, immutables.Map[str, StoredOffset]] = immutables.Map()
    _by_topic: immutables.Map[str, immutables.Map[tuple[str, str], StoredOffset]] = immutables.Map()
    size: int = 0

    def of_group(self, group_id: str) -> Mapping[str, StoredOffset]:
        """Return the rows of a group by partition; empty if there is no such group."""
        return self._by_group.get(group_id, _NONE)

    def of_topic(self, topic: str) -> Iterable[StoredOffset]:
        """Return the rows of a topic, of all groups, in no order."""
        offsets = self._by_topic.get(topic)
        return () if offsets is None else offsets.values()

    def groups(self) -> Mapping[str, Mapping[str, StoredOffset]]:
        """Return the groups by id."""
        return self._by_group

    def __iter__(self) -> Iterator[StoredOffset]:
        """Yield the rows, in no order."""
        return (row for rows in self._by_group.values() for row in rows.values())

    def with_changes(self, set: Iterable[StoredOffset], deleted: Iterable[StoredOffset]) -> Self:
        """Return the offsets without ``deleted`` and with ``set``; O(log n) for each row."""
        by_group, by_topic = ChangingMaps(self._by_group), ChangingMaps(self._by_topic)
        size = self.size
        for row in deleted:
            old = by_group.of(row.group_id).pop(row.partition, None)
            if old is not None:
                size -= size_of(old)
                by_topic.of(topic_of(row)).pop((row.group_id, row.partition), None)
        for row in set:
            rows = by_group.of(row.group_id)
            old = rows.get(row.partition)
            size += size_of(row) - (0 if old is None else size_of(old))
            rows[row.partition] = row
            if row.partition:
                by_topic.of(topic_of(row))[row.group_id, row.partition] = row
        return type(self)(by_group.finish(), by_topic.finish(), size)


def deletion(offsets: Offsets, rows: Iterable[StoredOffset]) -> Change:
    """Return the change that deletes offsets; groups without further offsets remain, empty."""
    gone = tuple(rows)
    counts = Counter(row.group_id for row in gone)
    emptied = [
        row_without_partition(group_id)
        for group_id, count in counts.items()
        if count == len(offsets.of_group(group_id))
    ]
    return edit(OFFSET, set=emptied, deleted=gone)


def deletion_of_topics(offsets: Offsets, names: Iterable[str]) -> Change:
    """Return the change that deletes the offsets of topics."""
    return deletion(offsets, (row for name in names for row in offsets.of_topic(name)))


def group_of(group_id: str) -> Group:
    """Return a group without members, as a broker describes one that commits have created."""
    return Group(group_id, "Empty", "classic", "", "", ())


def all_groups(offsets: Offsets, live: Mapping[str, Group] = NO_GROUPS) -> Mapping[str, Group]:
    """Return all groups by id: one with members hides that of its offsets."""
    of_offsets = _OffsetGroups(offsets)
    if not live:
        return of_offsets
    # A ChainMap only reads the mappings here, which its type requires to be mutable.
    layers: tuple[Any, ...] = (live, of_offsets)
    return ChainMap(*layers)


class _OffsetGroups(Mapping[str, Group]):
    """The groups that have committed offsets, as they are without members."""

    def __init__(self, offsets: Offsets) -> None:
        self._ids = offsets.groups()

    def __getitem__(self, group_id: str) -> Group:
        if group_id in self._ids:
            return group_of(group_id)
        raise KeyError(group_id)

    def __contains__(self, group_id: object) -> bool:
        return group_id in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


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
CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
SHARE: Final = "share"


class Committer(Struct, frozen=True):
    """What a commit says of the member that makes it. Without one ``epoch`` is negative."""

    member_id: str
    instance_id: str | None
    epoch: int
    version: int
    is_transactional: bool = False


def check_committer(group: Group | None, by: Committer) -> None:
    """Check that a member may commit offsets of a group."""
    if group is None:
        if by.epoch >= 0:
            # GROUP_ID_NOT_FOUND came to this API with version 9 (KIP-848).
            is_new = by.version >= 9
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND if is_new else ErrorCode.ILLEGAL_GENERATION)
        return
    if group.group_type != CLASSIC:
        _check_epoch(group, by)
        return
    if group.state == DEAD:
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if by.epoch < 0 and group.state == EMPTY:
        return
    if by.instance_id is not None:
        _check_instance(group.members, by.instance_id, by.member_id)
    _find_member(group.members, by.member_id)
    if by.epoch != group.generation:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION)
    if group.state == COMPLETING_REBALANCE:
        raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)


def _check_epoch(group: Group, by: Committer) -> None:
    if group.group_type == SHARE:
        text = f"Group {group.group_id} is not a consumer group."
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, text)
    if by.epoch < 0 and not group.members:
        return
    member = _find_member(group.members, by.member_id)
    is_newer = not (member.newer.is_classic or by.is_transactional)
    # Epochs came to this API with version 9 (KIP-848).
    if by.version < 9 and is_newer:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    if by.epoch != member.newer.epoch:
        # TxnOffsetCommit has no error of its own for epochs, nor has the classic protocol.
        raise ApiError(ErrorCode.STALE_MEMBER_EPOCH if is_newer else ErrorCode.ILLEGAL_GENERATION)


def _find_member(members: Iterable[GroupMember], member_id: str) -> GroupMember:
    for member in members:
        if member.member_id == member_id:
            return member
    raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)


def _check_instance(members: Iterable[GroupMember], instance_id: str, member_id: str) -> None:
    owners = [one.member_id for one in members if one.group_instance_id == instance_id]
    if not owners:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
    if member_id not in owners:
        raise ApiError(ErrorCode.FENCED_INSTANCE_ID)


def plan_commit(
    offsets: Offsets, group: Group | None, by: Committer, rows: Sequence[StoredOffset]
) -> Slices[tuple[Change, list[ErrorCode]]]:
    """Return the change, and an error or NONE for each row in order; all rows are of one group.

    Of two rows of one partition the last counts.
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
            if is_too_long(row.metadata):
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


def is_too_long(metadata: str) -> bool:
    """Return whether the text of an offset is longer than ``METADATA_MAX``."""
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
) -> Slices[tuple[Change, list[ErrorCode]]]:
    """Return the change that deletes groups, and an error or NONE for each in order."""
    errors: list[ErrorCode] = []
    gone: list[StoredOffset] = []
    for part in parts(group_ids):
        for group_id in part:
            error = _error_of_deletion(groups.get(group_id))
            errors.append(error)
            if error is ErrorCode.NONE:
                gone += offsets.of_group(group_id).values()
        yield
    return edit(OFFSET, deleted=gone), errors


def _error_of_deletion(group: Group | None) -> ErrorCode:
    if group is None or group.state == DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.members or group.state != EMPTY:
        return ErrorCode.NON_EMPTY_GROUP
    return ErrorCode.NONE
