"""A group of the classic protocol: joins, synchronisation, heartbeats, leaves and time-outs.

A state machine: the time is an argument, and an answer that must wait is a function that is called
with it. The driver calls ``advance`` at ``next_deadline_ms``.

    Empty                no members
    PreparingRebalance   waits for members to join (again), up to the rebalance time-out
    CompletingRebalance  waits for the leader's assignments
    Stable               every member has its assignment

Source: ``ClassicGroup`` and ``GroupMetadataManager`` of Kafka 4.3.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.cluster import Group, GroupMember

EMPTY: Final = "Empty"
PREPARING: Final = "PreparingRebalance"
COMPLETING: Final = "CompletingRebalance"
STABLE: Final = "Stable"

NO_GENERATION: Final = -1

SIZE_MAX: Final = 1_000
"""The members of a group. A broker has no bound by default (``group.max.size``)."""

PENDING_MAX: Final = 1_000
"""The ids that a group has given to members that have not joined yet."""

MEMBER_BYTES: Final = 2_000
"""The memory of the objects of a member, beside its texts and bytes (Python 3.11)."""

Protocols = tuple[tuple[str, bytes], ...]
"""Names of assignors and the metadata for each, the preferred one first."""


class JoinedMember(Struct, frozen=True):
    """A member as the leader sees it."""

    member_id: str
    instance_id: str | None
    metadata: bytes


class JoinAnswer(Struct, frozen=True):
    """The answer to a join."""

    error: ErrorCode
    member_id: str
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


class SyncAnswer(Struct, frozen=True):
    """The answer to a synchronisation."""

    error: ErrorCode
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


class Join(Struct, frozen=True):
    """A request to join. ``member_id`` is empty for a new member, which gets ``new_id``."""

    member_id: str
    new_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    requires_known_id: bool
    can_skip_assignment: bool
    answer: Callable[[JoinAnswer], None]
    size_max: int = SIZE_MAX
    initial_delay_ms: int = 0


class Sync(Struct, frozen=True):
    """A request to synchronise; ``assignments`` are empty from members that do not lead."""

    member_id: str
    instance_id: str | None
    generation: int
    protocol_type: str | None
    protocol: str | None
    assignments: Mapping[str, bytes]
    answer: Callable[[SyncAnswer], None]


class MemberState(Struct, frozen=True):
    """A member as it is when its group changes to another protocol, or came from one."""

    member_id: str
    join: Join
    metadata: bytes
    assignment: bytes


class _Member:
    __slots__ = ("answer_join", "answer_sync", "assignment", "deadline_ms", "join", "member_id")

    def __init__(self, member_id: str, join: Join) -> None:
        self.member_id = member_id
        self.join = join
        self.assignment = b""
        self.deadline_ms = 0
        self.answer_join: Callable[[JoinAnswer], None] | None = None
        self.answer_sync: Callable[[SyncAnswer], None] | None = None

    @property
    def is_waiting(self) -> bool:
        """Return whether the member waits for an answer: it sends no heartbeats then."""
        return self.answer_join is not None or self.answer_sync is not None

    def metadata(self, protocol: str | None) -> bytes:
        return next((data for name, data in self.join.protocols if name == protocol), b"")

    def reply_join(self, answer: JoinAnswer) -> None:
        reply, self.answer_join = self.answer_join, None
        if reply is not None:
            reply(answer)

    def reply_sync(self, answer: SyncAnswer) -> None:
        reply, self.answer_sync = self.answer_sync, None
        if reply is not None:
            reply(answer)


class ClassicGroup:
    """One group."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.state = EMPTY
        self.generation = 0
        self.protocol_type: str | None = None
        self._protocol: str | None = None
        self._leader = ""
        self._members: dict[str, _Member] = {}
        self._instances: dict[str, str] = {}
        self._pending: dict[str, int] = {}
        """Ids that were given to members that have not joined yet, and when they expire."""
        self._deadline_ms: int | None = None
        """The end of the present stage of a rebalance."""
        self._first_join_ms = 0
        self._first_join_ends_ms: int | None = None
        """Until when the first rebalance waits for further members, at least."""
        self._has_more = False
        """Whether a member has joined since that time was set."""

    # --- requests

    def join(self, join: Join, now_ms: int) -> None:
        """Let a member join; the answer comes at once or at the end of the rebalance."""
        error = self._join_error(join)
        if error is not ErrorCode.NONE:
            join.answer(JoinAnswer(error, join.member_id))
        elif join.member_id in self._pending:
            del self._pending[join.member_id]
            self._add(join.member_id, join, now_ms)
        elif join.member_id:
            self._join_again(self._members[join.member_id], join, now_ms)
        elif join.instance_id in self._instances:
            self._replace_static(join, now_ms)
        elif join.requires_known_id and join.instance_id is None:
            if len(self._pending) >= PENDING_MAX:
                del self._pending[next(iter(self._pending))]
            self._pending[join.new_id] = now_ms + join.session_timeout_ms
            join.answer(JoinAnswer(ErrorCode.MEMBER_ID_REQUIRED, join.new_id))
        else:
            self._add(join.new_id, join, now_ms)

    def sync(self, sync: Sync, now_ms: int) -> None:
        """Take the leader's assignments; each member is answered with its own."""
        try:
            member = self._find(sync.member_id, sync.instance_id)
            self._check_sync(sync)
        except ApiError as error:
            sync.answer(SyncAnswer(error.code))
            return
        member.deadline_ms = now_ms + member.join.session_timeout_ms
        if self.state == STABLE:
            sync.answer(self._sync_answer(member))
            return
        member.reply_sync(SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS))
        member.answer_sync = sync.answer
        if member.member_id == self._leader:
            self._assign(sync.assignments, now_ms)

    def heartbeat(
        self, member_id: str, instance_id: str | None, generation: int, now_ms: int
    ) -> ErrorCode:
        """Extend the session of a member; return whether it must join again."""
        try:
            member = self._find(member_id, instance_id)
        except ApiError as error:
            return error.code
        if generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        member.deadline_ms = now_ms + member.join.session_timeout_ms
        if self.state == PREPARING:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def touch(self, member_id: str, now_ms: int) -> None:
        """Extend the session of a member, if there is one."""
        member = self._members.get(member_id)
        if member is not None:
            member.deadline_ms = now_ms + member.join.session_timeout_ms

    def leave(self, member_id: str, instance_id: str | None, now_ms: int) -> ErrorCode:
        """Remove a member; a static one may be named by its instance id alone."""
        if member_id in self._pending:
            del self._pending[member_id]
            self._complete_join_if_ready(now_ms)
            return ErrorCode.NONE
        if not member_id and instance_id is not None:
            member_id = self._instances.get(instance_id, "")
        try:
            member = self._find(member_id, instance_id)
        except ApiError as error:
            return error.code
        self._remove(member, ErrorCode.UNKNOWN_MEMBER_ID)
        self._rebalance_without(now_ms)
        return ErrorCode.NONE

    # --- time

    @property
    def next_deadline_ms(self) -> int | None:
        """Return when ``advance`` has something to do; None while nothing waits."""
        times = [each.deadline_ms for each in self._members.values() if not each.is_waiting]
        times += self._pending.values()
        if self._deadline_ms is not None:
            times.append(self._deadline_ms)
        if self._first_join_ends_ms is not None:
            times.append(self._first_join_ends_ms)
        return min(times, default=None)

    def advance(self, now_ms: int) -> None:
        """Remove members whose session has ended, and end a stage whose time is over."""
        self._expire(now_ms)
        if self._first_join_ends_ms is not None and self._first_join_ends_ms <= now_ms:
            self._end_first_join(now_ms)
        if self._deadline_ms is None or self._deadline_ms > now_ms:
            return
        if self.state == PREPARING:
            self._complete_join(now_ms)
        elif self.state == COMPLETING:
            for member in tuple(self._members.values()):
                if member.answer_sync is None:
                    self._remove(member, ErrorCode.UNKNOWN_MEMBER_ID)
            self._prepare(now_ms)

    def _expire(self, now_ms: int) -> None:
        expired = [each for each, deadline in self._pending.items() if deadline <= now_ms]
        for member_id in expired:
            del self._pending[member_id]
        gone = [
            each
            for each in self._members.values()
            if not each.is_waiting and each.deadline_ms <= now_ms
        ]
        for member in gone:
            self._remove(member, ErrorCode.UNKNOWN_MEMBER_ID)
        if gone:
            self._rebalance_without(now_ms)
        elif expired:
            self._complete_join_if_ready(now_ms)

    def describe(self) -> Group:
        """Return the group for those that list and describe groups."""
        return Group(
            self.group_id,
            self.state,
            "classic",
            self.protocol_type or "",
            self._protocol or "",
            tuple(
                GroupMember(
                    each.member_id,
                    each.join.instance_id,
                    each.join.client_id,
                    each.join.client_host,
                    each.metadata(self._protocol),
                    each.assignment,
                )
                for each in self._members.values()
            ),
            self.generation,
        )

    @property
    def size(self) -> int:
        """Return about how many bytes the members take."""
        data = sum(
            len(each.member_id) + len(each.join.client_id) + len(each.assignment)
            + sum(len(name) + len(metadata) for name, metadata in each.join.protocols)
            for each in self._members.values()
        )  # fmt: skip
        count = len(self._members) + len(self._pending)
        return data + sum(map(len, self._pending)) + MEMBER_BYTES * count

    @property
    def has_members(self) -> bool:
        return bool(self._members or self._pending)

    @property
    def is_visible(self) -> bool:
        """Return whether the group is there for others, and does not only wait for a member."""
        return bool(self._members) or self.generation > 0

    # --- changes to and from the newer protocol

    @property
    def members(self) -> tuple[MemberState, ...]:
        return tuple(
            MemberState(
                each.member_id, each.join, each.metadata(self._protocol_or_first), each.assignment
            )
            for each in self._members.values()
        )

    @property
    def _protocol_or_first(self) -> str | None:
        """Return the chosen protocol; before the first one is chosen, one that all members know."""
        return self._protocol or (self._choose_protocol() if self._members else None)

    def dissolve(self) -> None:
        """Ask all members that wait to join again: the group has another protocol, or is gone."""
        for member in self._members.values():
            member.reply_join(JoinAnswer(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
            member.reply_sync(SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS))

    def take(self, generation: int, members: Iterable[MemberState], now_ms: int) -> None:
        """Become the group of these members, which have their assignments, and rebalance it.

        Source: ``ClassicGroup.fromConsumerGroup``.
        """
        for each in members:
            member = self._members[each.member_id] = _Member(each.member_id, each.join)
            member.assignment = each.assignment
            member.deadline_ms = now_ms + each.join.session_timeout_ms
            if each.join.instance_id is not None:
                self._instances[each.join.instance_id] = each.member_id
            self.protocol_type = each.join.protocol_type
            self._leader = self._leader or each.member_id
        self.generation = generation
        self.state = STABLE
        self._protocol = self._choose_protocol()
        self._prepare(now_ms)

    # --- joining

    def _join_error(self, join: Join) -> ErrorCode:
        names = {name for name, _ in join.protocols}
        if not self._members:
            is_supported = bool(join.protocol_type and names)
        else:
            is_supported = join.protocol_type == self.protocol_type and all(
                names & {name for name, _ in each.join.protocols} for each in self._members.values()
            )
            is_supported = is_supported and bool(names & self._common_protocols())
        if not is_supported:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        is_known = join.member_id in self._members or join.instance_id in self._instances
        if not is_known and len(self._members) >= join.size_max:
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        if not join.member_id or join.member_id in self._pending:
            return ErrorCode.NONE
        try:
            self._find(join.member_id, join.instance_id)
        except ApiError as error:
            return error.code
        return ErrorCode.NONE

    def _add(self, member_id: str, join: Join, now_ms: int) -> None:
        member = self._members[member_id] = _Member(member_id, join)
        if join.instance_id is not None:
            self._instances[join.instance_id] = member_id
        self.protocol_type = join.protocol_type
        self._leader = self._leader or member_id
        self._wait(member, join, now_ms)

    def _wait(self, member: _Member, join: Join, now_ms: int) -> None:
        """Let a member wait for the end of the rebalance, which begins now if none is under way."""
        member.reply_join(JoinAnswer(ErrorCode.UNKNOWN_MEMBER_ID, member.member_id))
        member.join = join
        member.answer_join = join.answer
        if self.state == PREPARING:
            self._has_more = True
            self._complete_join_if_ready(now_ms)
            return
        is_first = self.state == EMPTY
        self._prepare(now_ms, join.initial_delay_ms if is_first else 0)

    def _join_again(self, member: _Member, join: Join, now_ms: int) -> None:
        is_changed = member.join.protocols != join.protocols
        leads = member.member_id == self._leader
        if self.state == PREPARING or is_changed or (self.state == STABLE and leads):
            self._wait(member, join, now_ms)
            return
        # The member has missed the answer: it gets that of the present generation again.
        member.deadline_ms = now_ms + member.join.session_timeout_ms
        shows_members = leads and self.state == COMPLETING
        join.answer(self._join_answer(member, shows_members=shows_members))

    def _replace_static(self, join: Join, now_ms: int) -> None:
        """Give a static member that has started anew another member id."""
        assert join.instance_id is not None, "it is static"
        old = self._members.pop(self._instances[join.instance_id])
        led = old.member_id == self._leader
        old.reply_join(JoinAnswer(ErrorCode.FENCED_INSTANCE_ID, old.member_id))
        old.reply_sync(SyncAnswer(ErrorCode.FENCED_INSTANCE_ID))
        member = self._members[join.new_id] = _Member(join.new_id, join)
        member.assignment = old.assignment
        member.deadline_ms = now_ms + join.session_timeout_ms
        self._instances[join.instance_id] = join.new_id
        if led:
            self._leader = join.new_id
        if self.state != STABLE or old.join.protocols != join.protocols:
            self._wait(member, join, now_ms)
            return
        answer = self._join_answer(member, shows_members=led and join.can_skip_assignment)
        if led and not join.can_skip_assignment:
            # An old client that is not told that it leads makes no assignments.
            answer = replace(answer, leader=old.member_id)
        join.answer(replace(answer, skip_assignment=led and join.can_skip_assignment))

    # --- rebalances

    def _prepare(self, now_ms: int, first_join_ms: int = 0) -> None:
        for member in self._members.values():
            member.reply_sync(SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS))
            member.assignment = b"" if self.state == COMPLETING else member.assignment
        self.state = PREPARING
        self._deadline_ms = now_ms + self._rebalance_timeout_ms
        self._has_more = False
        if first_join_ms:
            self._first_join_ms = first_join_ms
            self._first_join_ends_ms = min(now_ms + first_join_ms, self._deadline_ms)
        self._complete_join_if_ready(now_ms)

    @property
    def _rebalance_timeout_ms(self) -> int:
        return max((each.join.rebalance_timeout_ms for each in self._members.values()), default=0)

    def _complete_join_if_ready(self, now_ms: int) -> None:
        if self.state != PREPARING or self._pending or self._first_join_ends_ms is not None:
            return
        if all(each.answer_join is not None for each in self._members.values()):
            self._complete_join(now_ms)

    def _end_first_join(self, now_ms: int) -> None:
        """End the stage of joining, unless a member has joined meanwhile: wait as long again."""
        if self._has_more and self._deadline_ms is not None and now_ms < self._deadline_ms:
            self._has_more = False
            self._first_join_ends_ms = min(now_ms + self._first_join_ms, self._deadline_ms)
        else:
            self._complete_join(now_ms)

    def _complete_join(self, now_ms: int) -> None:
        """End the stage of joining: the next generation begins with those that have joined."""
        self._first_join_ends_ms = None
        for member in tuple(self._members.values()):
            if member.answer_join is None and member.join.instance_id is None:
                self._remove(member, ErrorCode.UNKNOWN_MEMBER_ID)
        joined = [each for each in self._members.values() if each.answer_join is not None]
        if self._members and not joined:
            # Static members keep their places until their sessions end.
            self._deadline_ms = now_ms + self._rebalance_timeout_ms
            return
        self.generation += 1
        if not self._members:
            self.state = EMPTY
            self._protocol = None
            self._leader = ""
            self._deadline_ms = None
            return
        if self._leader not in {each.member_id for each in joined}:
            self._leader = joined[0].member_id
        self.state = COMPLETING
        self._protocol = self._choose_protocol()
        self._deadline_ms = now_ms + self._rebalance_timeout_ms
        for member in joined:
            member.deadline_ms = now_ms + member.join.session_timeout_ms
            shows_members = member.member_id == self._leader
            member.reply_join(self._join_answer(member, shows_members=shows_members))

    def _join_answer(self, member: _Member, *, shows_members: bool) -> JoinAnswer:
        members: tuple[JoinedMember, ...] = ()
        if shows_members:
            members = tuple(
                JoinedMember(each.member_id, each.join.instance_id, each.metadata(self._protocol))
                for each in self._members.values()
            )
        return JoinAnswer(
            ErrorCode.NONE,
            member.member_id,
            self.generation,
            self.protocol_type,
            self._protocol,
            self._leader,
            members,
        )

    def _common_protocols(self) -> set[str]:
        names = [{name for name, _ in each.join.protocols} for each in self._members.values()]
        return set.intersection(*names)

    def _choose_protocol(self) -> str:
        """Return the protocol that most members prefer among those that all know."""
        common = self._common_protocols()
        votes = Counter(
            next(name for name, _ in each.join.protocols if name in common)
            for each in self._members.values()
        )
        return votes.most_common(1)[0][0]

    def _assign(self, assignments: Mapping[str, bytes], now_ms: int) -> None:
        self.state = STABLE
        self._deadline_ms = None
        for member in self._members.values():
            member.assignment = assignments.get(member.member_id, b"")
            if member.answer_sync is not None:
                member.deadline_ms = now_ms + member.join.session_timeout_ms
            member.reply_sync(self._sync_answer(member))

    def _sync_answer(self, member: _Member) -> SyncAnswer:
        return SyncAnswer(ErrorCode.NONE, self.protocol_type, self._protocol, member.assignment)

    def _check_sync(self, sync: Sync) -> None:
        """Check that a member may synchronise now.

        Raises:
            ApiError: it may not.
        """
        if sync.generation != self.generation:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION)
        for given, own in (
            (sync.protocol_type, self.protocol_type),
            (sync.protocol, self._protocol),
        ):
            if given is not None and given != own:
                raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if self.state == PREPARING:
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)

    # --- members

    def _find(self, member_id: str, instance_id: str | None) -> _Member:
        """Return a member.

        Raises:
            ApiError: there is none, or another one has its instance id now.
        """
        if instance_id is not None:
            owner = self._instances.get(instance_id)
            if owner is None:
                raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
            if owner != member_id:
                raise ApiError(ErrorCode.FENCED_INSTANCE_ID)
        member = self._members.get(member_id)
        if member is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    def _remove(self, member: _Member, error: ErrorCode) -> None:
        del self._members[member.member_id]
        if member.join.instance_id is not None:
            del self._instances[member.join.instance_id]
        if member.member_id == self._leader:
            self._leader = next(iter(self._members), "")
        member.reply_join(JoinAnswer(error, member.member_id))
        member.reply_sync(SyncAnswer(error))

    def _rebalance_without(self, now_ms: int) -> None:
        """Continue after members have left."""
        if self.state == PREPARING:
            self._complete_join_if_ready(now_ms)
        elif self.state != EMPTY:
            self._prepare(now_ms)
