"""A share group (KIP-932): its members, their partitions, and the records of each partition.

A state machine: the time and the topics are arguments. The driver calls ``advance`` at
``next_deadline_ms``. The group is Empty or Stable: members take what the newest target gives them
with their next heartbeat, since a partition may have several.

Source: ``GroupMetadataManager`` and ``ShareGroup`` of Kafka 4.3.1. A broker computes the first
assignment when it has stored where the group begins, which members learn with their second
heartbeat; here it is there at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.cluster import Group, GroupMember, NewerMember
from doorkeeper.server.resources.groups import SHARE
from doorkeeper_broker.assignors import NO_PARTITIONS, Subscriber, assign_shared
from doorkeeper_broker.classic_group import MEMBER_BYTES
from doorkeeper_broker.consumer_group import EMPTY, STABLE
from doorkeeper_broker.consumer_member import JOIN, Beat, BeatAnswer, GroupLimits, size_of
from doorkeeper_broker.consumer_protocol import assignment_bytes, subscription_bytes

if TYPE_CHECKING:
    from doorkeeper.server.resources.topics.table import Topics
    from doorkeeper_broker.assignors import Partition, Partitions
    from doorkeeper_broker.share_partition import SharePartition

ASSIGNOR: Final = "simple"


class _Member:
    def __init__(self, member_id: str) -> None:
        self.member_id = member_id
        self.rack_id: str | None = None
        self.client_id = ""
        self.client_host = ""
        self.topics: frozenset[str] = frozenset()
        self.epoch = JOIN
        self.previous_epoch = JOIN
        self.assigned: Partitions = NO_PARTITIONS
        self.target: Partitions = NO_PARTITIONS
        self.session_ends_ms = 0

    def check_epoch(self, epoch: int) -> None:
        """Check the epoch of a heartbeat; the answer to the previous one may be lost.

        Raises:
            ApiError: the member must join anew.
        """
        if epoch in (JOIN, self.epoch, self.previous_epoch):
            return
        is_greater = epoch > self.epoch
        previous = (
            ""
            if is_greater
            else f", and it does not match the previous member epoch ({self.previous_epoch})"
        )
        raise ApiError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The share group member has a {'greater' if is_greater else 'smaller'} member epoch"
            f" ({epoch}) than the one known by the group coordinator ({self.epoch}){previous}."
            " The member must abandon all its partitions and rejoin.",
        )


class ShareGroup:
    """One group."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.assignment_epoch = 0
        self.deliveries_max = 0
        """How often a record is delivered; the driver sets it before each call."""
        self.partitions: dict[Partition, SharePartition] = {}
        self.initialized: dict[bytes, int] = {}
        """The partitions, from the first one on, that offsets are described of; by topic."""
        self._members: dict[str, _Member] = {}
        self._topics: Topics | None = None
        self._sizes: dict[str, tuple[bytes, int]] = {}

    # --- members

    def heartbeat(self, beat: Beat, topics: Topics, limits: GroupLimits, now_ms: int) -> BeatAnswer:
        """Let a member join or go on.

        Raises:
            ApiError: the member is refused; nothing has changed.
        """
        member = self._members.get(beat.member_id)
        if member is None and len(self._members) >= limits.size_max:
            raise ApiError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The share group has reached its maximum capacity of {limits.size_max} members.",
            )
        is_changed = member is None
        if member is None:
            if beat.epoch != JOIN:
                raise self._unknown(beat.member_id)
            member = self._members[beat.member_id] = _Member(beat.member_id)
        member.check_epoch(beat.epoch)
        before = member.assigned
        if beat.topics is not None and beat.topics != member.topics:
            member.topics = beat.topics
            is_changed = True
        member.rack_id = beat.rack_id or member.rack_id
        member.client_id, member.client_host = beat.client_id, beat.client_host
        if is_changed or topics is not self._topics:
            self._look_at(topics, is_changed=is_changed)
        if self.epoch > self.assignment_epoch:
            self._assign()
        if member.epoch != self.assignment_epoch:
            member.previous_epoch, member.epoch = member.epoch, self.assignment_epoch
            member.assigned = member.target
        member.session_ends_ms = now_ms + limits.session_timeout_ms
        is_shown = beat.epoch == JOIN or beat.topics is not None or member.assigned != before
        return BeatAnswer(member.member_id, member.epoch, member.assigned if is_shown else None)

    def leave(self, member_id: str, epoch: int) -> BeatAnswer:
        """Remove a member; what it has acquired is released.

        Raises:
            ApiError: there is no such member.
        """
        if member_id not in self._members:
            raise self._unknown(member_id)
        self._remove(member_id)
        return BeatAnswer(member_id, epoch)

    def _unknown(self, member_id: str) -> ApiError:
        return ApiError(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"Member {member_id} is not a member of group {self.group_id}.",
        )

    def _remove(self, member_id: str) -> None:
        del self._members[member_id]
        self.epoch += 1
        for partition in self.partitions.values():
            partition.release(member_id, self.deliveries_max)

    def _look_at(self, topics: Topics, *, is_changed: bool) -> None:
        """Look at the topics of all members; the epoch rises if they have changed."""
        self._topics = topics
        names = sorted({name for each in self._members.values() for name in each.topics})
        found = [topic for name in names if (topic := topics.get(name)) is not None]
        sizes = {topic.name: (topic.topic_id, topic.partitions) for topic in found}
        if is_changed or sizes != self._sizes:
            # A broker counts its first assignment, which is empty, too.
            self.epoch += 1 if self.epoch else 2
        self._sizes = sizes
        self.initialized.update(sizes.values())

    def _assign(self) -> None:
        sizes = self._sizes
        members = [
            Subscriber(
                each.member_id,
                None,
                frozenset(sizes[name][0] for name in each.topics if name in sizes),
                each.target,
            )
            for each in self._members.values()
        ]
        targets = assign_shared(members, dict(sizes.values()))
        for member in self._members.values():
            member.target = targets[member.member_id]
        self.assignment_epoch = self.epoch

    # --- topics

    def forget_topic(self, topic_id: bytes) -> None:
        """Forget the records and the offsets of a topic."""
        self.initialized.pop(topic_id, None)
        for partition in [each for each in self.partitions if each.topic_id == topic_id]:
            self.drop(partition)

    def drop(self, partition: Partition) -> None:
        """Forget the records of a partition, if there are some."""
        found = self.partitions.pop(partition, None)
        if found is not None:
            found.close()

    # --- time

    @property
    def next_deadline_ms(self) -> int | None:
        """Return when ``advance`` has something to do; None if never."""
        locks = (each.next_deadline_ms for each in self.partitions.values())
        return min(
            (
                *(each.session_ends_ms for each in self._members.values()),
                *(each for each in locks if each is not None),
            ),
            default=None,
        )

    def advance(self, now_ms: int) -> None:
        """Remove members whose session has ended, and release records whose lock has ended."""
        for member in tuple(self._members.values()):
            if member.session_ends_ms <= now_ms:
                self._remove(member.member_id)
        for partition in self.partitions.values():
            if partition.next_deadline_ms is not None and partition.next_deadline_ms <= now_ms:
                partition.advance(now_ms, self.deliveries_max)

    # --- views

    @property
    def size(self) -> int:
        """Return about how many bytes the members and their topics take."""
        return sum(
            MEMBER_BYTES + len(each.client_id) + size_of(each.topics)
            for each in self._members.values()
        )

    @property
    def has_members(self) -> bool:
        return bool(self._members)

    @property
    def is_visible(self) -> bool:
        """Return whether the group is there for others: a member has joined, or it has offsets."""
        return self.epoch > 0 or bool(self.initialized)

    def describe(self) -> Group:
        """Return the group for those that list and describe groups."""
        names = {topic_id: name for name, (topic_id, _) in self._sizes.items()}

        def assignment(partitions: Partitions) -> bytes:
            by_topic: dict[str, list[int]] = {}
            for each in sorted(partitions):
                if each.topic_id in names:
                    by_topic.setdefault(names[each.topic_id], []).append(each.number)
            return assignment_bytes(by_topic)

        members = tuple(
            GroupMember(
                each.member_id,
                None,
                each.client_id,
                each.client_host,
                subscription_bytes(sorted(each.topics)),
                assignment(each.assigned),
                NewerMember(each.epoch, each.rack_id),
            )
            for each in self._members.values()
        )
        return Group(
            self.group_id,
            STABLE if members else EMPTY,
            SHARE,
            SHARE,
            ASSIGNOR,
            members,
            self.epoch,
            self.assignment_epoch,
        )
