"""A group of the newer consumer protocol (KIP-848): the members, their epochs and partitions.

A state machine: the time and the topics are arguments. The driver calls ``advance`` at
``next_deadline_ms``.

    Empty        no members
    Assigning    a member went: the next heartbeat of another computes the targets anew
    Reconciling  a member does not have the partitions of its target yet
    Stable       every member has them

The epoch of the group rises with each such change; that of the targets follows it, and those of
the members follow when they have given up the partitions that are no longer theirs. A member gets
a partition only after the former owner has given it up, has left, or has let its time-out pass.

Source: ``GroupMetadataManager``, ``ConsumerGroup`` and ``CurrentAssignmentBuilder`` of Kafka 4.3.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from time import thread_time
from typing import Final

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.cluster import Group, GroupMember, NewerMember
from doorkeeper.server.resources.topics.table import Topics
from doorkeeper.server.security.java_regex import TIME_LIMIT_S, JavaPattern, PatternError
from doorkeeper_broker.assignors import ASSIGNORS, NO_PARTITIONS, Partition, Partitions, Subscriber
from doorkeeper_broker.classic_group import MEMBER_BYTES
from doorkeeper_broker.consumer_member import (
    JOIN,
    LEAVE_FOR_A_TIME,
    Beat,
    BeatAnswer,
    Consumer,
    GroupLimits,
    Stage,
    size_of,
)
from doorkeeper_broker.consumer_protocol import assignment_bytes, subscription_bytes

EMPTY: Final = "Empty"
ASSIGNING: Final = "Assigning"
RECONCILING: Final = "Reconciling"
STABLE: Final = "Stable"

SIZE_MAX: Final = 1_000
"""The members of a group. A broker has no bound by default (``group.consumer.max.size``)."""


class ConsumerGroup:
    """One group."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.assignment_epoch = 0
        self._members: dict[str, Consumer] = {}
        self._instances: dict[str, str] = {}
        self._topics: Topics | None = None
        """The topics of the server when they were last looked at."""
        self._matched: dict[str, frozenset[str]] = {}
        """The topics of each pattern."""
        self._stale: list[str] = []
        """The patterns that have not been matched with the present topics yet."""
        self._sizes: dict[str, tuple[bytes, int]] = {}
        """Ids and numbers of partitions of the topics of all members."""
        self._encoded: dict[Partitions, bytes] = {}
        """What ``assignment_bytes`` has returned with the present epoch and topics."""

    # --- requests

    def heartbeat(
        self,
        beat: Beat,
        topics: Topics,
        describable: Callable[[Sequence[str]], Collection[str]],
        limits: GroupLimits,
        now_ms: int,
    ) -> BeatAnswer:
        """Let a member join or go on.

        ``describable`` selects the topics that the member may see, of those of its pattern.

        Raises:
            ApiError: the member is refused; nothing has changed.
        """
        if beat.epoch == JOIN:
            self._check_size(beat.member_id, min(limits.size_max, SIZE_MAX))
        found = None if beat.pattern is None else self._match(beat.pattern, topics, describable)
        member, is_new = self._find_or_join(beat)
        before = member.assigned
        is_changed = member.update(beat) or is_new
        if topics is not self._topics:
            self._stale = list(self._matched)
        fresh = self._match_again(topics, describable)
        if found is not None:
            fresh[member.pattern] = found
        if fresh or is_changed or topics is not self._topics:
            self._matched = {**self._matched, **fresh}
            self._topics = topics
            self._look_at(topics, is_changed=is_changed)
        if self.epoch > self.assignment_epoch:
            self._assign()
        if not member.is_reconciled(self.assignment_epoch):
            self._reconcile(member, beat.owned, now_ms)
        member.session_ends_ms = now_ms + limits.session_timeout_ms
        is_told = beat.is_full or member.assigned != before
        return BeatAnswer(member.member_id, member.epoch, member.assigned if is_told else None)

    def leave(self, member_id: str, instance_id: str | None, epoch: int) -> BeatAnswer:
        """Remove a member; a static one that leaves for a time keeps its partitions.

        Raises:
            ApiError: there is no such member.
        """
        member = self.find(member_id, instance_id)
        if epoch == LEAVE_FOR_A_TIME:
            member.move(member.stage, epoch, member.assigned, NO_PARTITIONS)
            member.step_ends_ms = None
        else:
            self.remove(member)
        return BeatAnswer(member_id, epoch)

    # --- time

    @property
    def next_deadline_ms(self) -> int | None:
        """Return when ``advance`` has something to do; None without members."""
        return min((_ends_ms(each) for each in self._members.values()), default=None)

    def advance(self, now_ms: int) -> None:
        """Remove members whose session, or whose time to give up partitions, has ended."""
        for member in tuple(self._members.values()):
            if _ends_ms(member) <= now_ms:
                self.remove(member)

    # --- views

    @property
    def state(self) -> str:
        if not self._members:
            return EMPTY
        if self.epoch > self.assignment_epoch:
            return ASSIGNING
        if all(each.is_reconciled(self.assignment_epoch) for each in self._members.values()):
            return STABLE
        return RECONCILING

    @property
    def size(self) -> int:
        """Return about how many bytes the members and their topics take."""
        names = sum(
            len(each.member_id) + len(each.client_id) + len(each.pattern) + size_of(each.topics)
            for each in self._members.values()
        )
        return names + sum(map(size_of, self._matched.values())) + MEMBER_BYTES * len(self._members)

    @property
    def has_members(self) -> bool:
        return bool(self._members)

    @property
    def is_visible(self) -> bool:
        """Return whether the group is there for others: a member has joined."""
        return self.epoch > 0

    def describe(self) -> Group:
        """Return the group for those that list and describe groups."""
        return Group(
            self.group_id,
            self.state,
            "consumer",
            "consumer",
            self._assignor(),
            tuple(
                GroupMember(
                    each.member_id,
                    each.instance_id,
                    each.client_id,
                    each.client_host,
                    subscription_bytes(sorted(each.topics)),
                    self.assignment_bytes(each.assigned),
                    NewerMember(
                        each.epoch,
                        each.rack_id,
                        each.pattern,
                        self._matched.get(each.pattern, frozenset()),
                        self.assignment_bytes(each.target),
                        is_classic=each.classic is not None,
                    ),
                )
                for each in self._members.values()
            ),
            self.epoch,
            self.assignment_epoch,
        )

    def assignment_bytes(self, partitions: Partitions) -> bytes:
        """Return partitions in the form of the classic protocol, without topics that are gone."""
        encoded = self._encoded.get(partitions)
        if encoded is not None:
            return encoded
        names = {topic_id: name for name, (topic_id, _) in self._sizes.items()}
        by_topic: dict[str, list[int]] = {}
        for each in sorted(partitions):
            if each.topic_id in names:
                by_topic.setdefault(names[each.topic_id], []).append(each.number)
        encoded = self._encoded[partitions] = assignment_bytes(by_topic)
        return encoded

    # --- members

    @property
    def members(self) -> tuple[Consumer, ...]:
        return tuple(self._members.values())

    def add(self, member: Consumer) -> None:
        """Take a member of a classic group that becomes this one."""
        self._members[member.member_id] = member
        if member.instance_id is not None:
            self._instances[member.instance_id] = member.member_id

    def _check_size(self, member_id: str, size_max: int) -> None:
        if len(self._members) >= size_max and member_id not in self._members:
            raise ApiError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {size_max} members.",
            )

    def _find_or_join(self, beat: Beat) -> tuple[Consumer, bool]:
        """Return the member of a heartbeat, and whether it is new.

        Raises:
            ApiError: it is not a member, or not in this epoch.
        """
        if beat.epoch != JOIN:
            member = self.find(beat.member_id, beat.instance_id)
            member.check_epoch(beat)
            return member, False
        owner = None if beat.instance_id is None else self._instances.get(beat.instance_id)
        if owner is not None and (beat.classic is None or owner != beat.member_id):
            return self._replace(self._members[owner], beat), False
        known = self._members.get(beat.member_id)
        if known is not None:
            if beat.instance_id is None:
                if beat.classic is None:
                    known.check_epoch(beat)
            else:
                # It becomes a static member; a broker does not look at its epoch then.
                self._instances.pop(known.instance_id or "", None)
                self._instances[beat.instance_id] = beat.member_id
                known.instance_id = beat.instance_id
            return known, False
        member = self._members[beat.member_id] = Consumer(beat.member_id, beat.instance_id)
        if beat.instance_id is not None:
            self._instances[beat.instance_id] = beat.member_id
        return member, True

    def find(self, member_id: str, instance_id: str | None) -> Consumer:
        """Return a member.

        Raises:
            ApiError: there is none, or another one has its instance id now.
        """
        if instance_id is None:
            member = self._members.get(member_id)
            if member is None:
                raise ApiError(
                    ErrorCode.UNKNOWN_MEMBER_ID,
                    f"Member {member_id} is not a member of group {self.group_id}.",
                )
            return member
        owner = self._instances.get(instance_id)
        if owner is None:
            text = f"Instance id {instance_id} is unknown."
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, text)
        if owner != member_id:
            raise ApiError(
                ErrorCode.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by member"
                f" {owner}.",
            )
        return self._members[owner]

    def _replace(self, member: Consumer, beat: Beat) -> Consumer:
        """Give the place of a static member that has left for a time to the one that joins."""
        is_taken = beat.member_id != member.member_id and beat.member_id in self._members
        is_newer = member.classic is None and beat.classic is None
        if (is_newer and member.epoch != LEAVE_FOR_A_TIME) or is_taken:
            raise ApiError(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"Static member {beat.member_id} with instance id {beat.instance_id} cannot join"
                f" the group because the instance id is owned by {member.member_id} member.",
            )
        del self._members[member.member_id]
        member.member_id = beat.member_id
        self._members[beat.member_id] = member
        self._instances[beat.instance_id or ""] = beat.member_id
        member.epoch = member.previous_epoch = JOIN
        member.stage = Stage.STABLE
        return member

    def remove(self, member: Consumer) -> None:
        """Remove a member; the targets of the others are computed anew."""
        del self._members[member.member_id]
        if member.instance_id is not None:
            del self._instances[member.instance_id]
        self._forget_unused()
        self.epoch += 1

    # --- topics

    def _match(
        self,
        pattern: str,
        topics: Topics,
        describable: Callable[[Sequence[str]], Collection[str]],
    ) -> frozenset[str]:
        """Return the topics of a pattern; an empty one has none.

        Raises:
            ApiError: the pattern cannot be used.
        """
        if not pattern:
            return frozenset()
        try:
            names = JavaPattern(pattern).select(topics.names())
        except (PatternError, TimeoutError) as error:
            text = f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {error}."
            raise ApiError(ErrorCode.INVALID_REGULAR_EXPRESSION, text) from None
        return frozenset(describable(names))

    def _match_again(
        self, topics: Topics, describable: Callable[[Sequence[str]], Collection[str]]
    ) -> dict[str, frozenset[str]]:
        """Match patterns with other topics as far as time allows; later heartbeats go on."""
        found = {}
        end_s = thread_time() + TIME_LIMIT_S
        while self._stale:
            pattern = self._stale.pop()
            # The member that beats now is not to blame for the pattern of another.
            with suppress(ApiError):
                found[pattern] = self._match(pattern, topics, describable)
            if thread_time() >= end_s:
                break
        return found

    def _look_at(self, topics: Topics, *, is_changed: bool) -> None:
        """Look at the topics of all members; the epoch rises if they have changed."""
        self._forget_unused()
        names = {name for each in self._members.values() for name in self._names(each)}
        found = {name: topics.get(name) for name in sorted(names)}
        sizes = {
            name: (topic.topic_id, topic.partitions)
            for name, topic in found.items()
            if topic is not None
        }
        if is_changed or sizes != self._sizes:
            # The first epoch of a new group is 2 on a broker too.
            self.epoch += 1 if self.epoch else 2
        self._sizes = sizes
        self._encoded = {}

    def _forget_unused(self) -> None:
        """Forget the patterns and topics to which only members that have gone subscribed."""
        members = self._members.values()
        patterns = {each.pattern for each in members}
        self._matched = {key: found for key, found in self._matched.items() if key in patterns}
        names = {name for each in members for name in self._names(each)}
        self._sizes = {name: found for name, found in self._sizes.items() if name in names}
        self._encoded = {}

    def _names(self, member: Consumer) -> frozenset[str]:
        return member.topics | self._matched.get(member.pattern, frozenset())

    # --- targets

    def _assignor(self) -> str:
        """Return the assignor that most members ask for; without any the default one."""
        asked = Counter(each.assignor for each in self._members.values() if each.assignor)
        return asked.most_common(1)[0][0] if asked else next(iter(ASSIGNORS))

    def _assign(self) -> None:
        members = [
            Subscriber(
                each.member_id,
                each.instance_id,
                frozenset(
                    self._sizes[name][0] for name in self._names(each) if name in self._sizes
                ),
                each.target,
            )
            for each in self._members.values()
        ]
        targets = ASSIGNORS[self._assignor()](members, dict(self._sizes.values()))
        for member in self._members.values():
            member.target = targets[member.member_id]
        self.assignment_epoch = self.epoch

    # --- reconciliation

    def _reconcile(self, member: Consumer, owned: Partitions | None, now_ms: int) -> None:
        """Take a member nearer to its target."""
        if member.stage is not Stage.UNREVOKED:
            self._next_step(member, member.epoch, owned)
        elif owned is not None and not owned & member.revoking:
            self._next_step(member, member.epoch + 1, owned)
        else:
            return
        if member.stage is Stage.UNREVOKED:
            member.step_ends_ms = now_ms + member.rebalance_timeout_ms
        else:
            member.step_ends_ms = None

    def _next_step(self, member: Consumer, epoch: int, owned: Partitions | None) -> None:
        kept = member.assigned & member.target
        revoking = member.assigned - kept
        if revoking and (owned is None or owned & revoking):
            member.move(Stage.UNREVOKED, epoch, kept, revoking)
            return
        wanted = member.target - kept
        unreleased = wanted & self.owned() if wanted else NO_PARTITIONS
        stage = Stage.UNRELEASED if unreleased else Stage.STABLE
        member.move(stage, self.assignment_epoch, kept | (wanted - unreleased), NO_PARTITIONS)

    def owned(self) -> frozenset[Partition]:
        """Return the partitions that members have, or have not yet given up."""
        return frozenset(
            partition
            for member in self._members.values()
            for partition in (*member.assigned, *member.revoking)
        )


def _ends_ms(member: Consumer) -> int:
    if member.step_ends_ms is None:
        return member.session_ends_ms
    return min(member.session_ends_ms, member.step_ends_ms)
