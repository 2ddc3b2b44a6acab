"""A member of a group of the newer consumer protocol (KIP-848): heartbeats, epoch, partitions.

A member of the classic protocol may be one too, while its group changes: ``classic_members``.

Source: ``ConsumerGroupMember`` of Kafka 4.3.1.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from msgspec import Struct

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper_broker.assignors import NO_PARTITIONS, Partitions
from doorkeeper_broker.classic_group import Join

JOIN: Final = 0
LEAVE: Final = -1
LEAVE_FOR_A_TIME: Final = -2
"""The epochs with which members join and leave; the last one is for static members."""


_NAME_BYTES: Final = 120
"""The memory of a name in a set, beside its letters (Python 3.11)."""


def size_of(names: frozenset[str]) -> int:
    """Return about how many bytes a set of names takes."""
    return sum(map(len, names)) + _NAME_BYTES * len(names)


class GroupLimits(Struct, frozen=True):
    """The settings of a group that its members feel."""

    size_max: int
    session_timeout_ms: int


class Beat(Struct, frozen=True):
    """A heartbeat; fields that have not changed since the last are None, or -1 of the time-out."""

    member_id: str
    epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topics: frozenset[str] | None = None
    pattern: str | None = None
    assignor: str | None = None
    owned: Partitions | None = None
    client_id: str = ""
    client_host: str = ""
    classic: Join | None = None
    """The request of a member of the classic protocol, which has no epoch."""

    @property
    def is_full(self) -> bool:
        """Return whether the member tells everything, and so is told its partitions."""
        has_topics = self.topics is not None or self.pattern is not None
        is_whole = self.rebalance_timeout_ms != -1 and has_topics and self.owned is not None
        return self.epoch == JOIN or is_whole


class BeatAnswer(Struct, frozen=True):
    """The answer to a heartbeat; ``assignment`` is None where it has not changed."""

    member_id: str
    epoch: int
    assignment: Partitions | None = None


class Stage(Enum):
    """How far a member is on the way to its target."""

    STABLE = auto()
    UNREVOKED = auto()
    """The member has partitions that it shall give up."""
    UNRELEASED = auto()
    """Other members have partitions that it shall get."""


class Consumer:
    """One member."""

    def __init__(self, member_id: str, instance_id: str | None) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.rack_id: str | None = None
        self.client_id = ""
        self.client_host = ""
        self.topics: frozenset[str] = frozenset()
        self.pattern = ""
        self.assignor: str | None = None
        self.rebalance_timeout_ms = -1
        self.epoch = JOIN
        self.previous_epoch = JOIN
        self.stage = Stage.STABLE
        self.assigned: Partitions = NO_PARTITIONS
        self.revoking: Partitions = NO_PARTITIONS
        self.target: Partitions = NO_PARTITIONS
        self.session_ends_ms = 0
        self.step_ends_ms: int | None = None
        """Until when it gives up partitions; of the classic protocol, joins or synchronises."""
        self.classic: Join | None = None
        """The last join of a member of the classic protocol."""

    def update(self, beat: Beat) -> bool:
        """Take the fields of a heartbeat; return whether the topics have changed."""
        before = self.topics, self.pattern
        self.classic = beat.classic
        self.client_id, self.client_host = beat.client_id, beat.client_host
        self.rack_id = beat.rack_id or self.rack_id
        self.assignor = beat.assignor or self.assignor
        if beat.rebalance_timeout_ms != -1:
            self.rebalance_timeout_ms = beat.rebalance_timeout_ms
        if beat.topics is not None:
            self.topics = beat.topics
        if beat.pattern is not None:
            self.pattern = beat.pattern
        return before != (self.topics, self.pattern)

    def is_reconciled(self, epoch: int) -> bool:
        return self.stage is Stage.STABLE and self.epoch == epoch

    def move(self, stage: Stage, epoch: int, assigned: Partitions, revoking: Partitions) -> None:
        self.stage = stage
        self.previous_epoch, self.epoch = self.epoch, epoch
        self.assigned = assigned
        self.revoking = revoking

    def check_epoch(self, beat: Beat) -> None:
        """Check the epoch of a heartbeat; the previous one is one whose answer may be lost.

        Raises:
            ApiError: the member must give up all partitions and join anew.
        """
        if beat.epoch == self.epoch:
            return
        is_lost = beat.epoch == self.previous_epoch and beat.epoch < self.epoch
        if is_lost and beat.owned is not None and beat.owned <= self.assigned:
            return
        size = "greater" if beat.epoch > self.epoch else "smaller"
        raise ApiError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {size} member epoch ({beat.epoch}) than the one known"
            f" by the group coordinator ({self.epoch}). The member must abandon all its partitions"
            " and rejoin.",
        )
