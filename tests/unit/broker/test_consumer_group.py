"""Groups of the newer protocol: assignors, epochs, targets, and partitions that change owners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.topics.table import Topics
from doorkeeper_broker import consumer_group
from doorkeeper_broker.assignors import (
    ASSIGNORS,
    NO_PARTITIONS,
    Partition,
    Subscriber,
    assign_range,
    assign_uniform,
)
from doorkeeper_broker.consumer_group import ConsumerGroup
from doorkeeper_broker.consumer_member import (
    LEAVE,
    LEAVE_FOR_A_TIME,
    Beat,
    BeatAnswer,
    GroupLimits,
)
from doorkeeper_wire.consumer_protocol import decode_assignment
from testkit.counted import counted_calls
from testkit.nodes import a_topic

if TYPE_CHECKING:
    from collections.abc import Sequence


REBALANCE_MS = 10_000
SESSION_TIMEOUT_MS = 45_000
LIMITS = GroupLimits(1_000, SESSION_TIMEOUT_MS)


class World:
    """A group, and the topics of its server."""

    def __init__(self, **partitions: int) -> None:
        self.group = ConsumerGroup("g")
        self.hidden: set[str] = set()
        self.set_topics(**(partitions or {"t": 4}))

    def set_topics(self, **partitions: int) -> None:
        self.topics = Topics.of([a_topic(*each) for each in partitions.items()])

    def beat(self, member_id: str, epoch: int, now_ms: int = 0, **fields: Any) -> BeatAnswer:
        def describable(names: Sequence[str]) -> set[str]:
            return set(names) - self.hidden

        return self.group.heartbeat(
            Beat(member_id, epoch, **fields), self.topics, describable, LIMITS, now_ms
        )

    def join(self, member_id: str, now_ms: int = 0, **fields: Any) -> BeatAnswer:
        values: dict[str, Any] = {"topics": frozenset(["t"]), **fields}
        return self.beat(
            member_id, 0, now_ms, rebalance_timeout_ms=REBALANCE_MS, owned=frozenset(), **values
        )

    def of(self, topic: str, *numbers: int) -> frozenset[Partition]:
        found = self.topics.get(topic)
        assert found is not None
        return frozenset(Partition(found.topic_id, each) for each in numbers)

    def refusal(self, member_id: str, epoch: int, **fields: Any) -> ErrorCode:
        with pytest.raises(ApiError) as refused:
            self.beat(member_id, epoch, **fields)
        return refused.value.code

    def all_numbers(self) -> dict[str, list[int]]:
        """Return the partitions that each member has, by the description of the group."""
        return {
            member.member_id: [
                number
                for row in decode_assignment(member.assignment).assigned_partitions
                for number in row.partitions
            ]
            for member in self.group.describe().members
        }


def two_members() -> World:
    """Return a stable group in which a and b have two partitions each."""
    world = World()
    given = world.join("a").assignment
    assert given is not None
    world.join("b")
    asked = world.beat("a", 2).assignment
    assert asked is not None
    world.beat("a", 2, owned=asked)
    world.beat("b", 3)
    assert world.group.state == "Stable"
    return world


def test_partition_is_revoked_before_reassignment() -> None:
    world = World()
    world.join("a")

    assert world.join("b") == BeatAnswer("b", 3, frozenset())
    assert world.group.state == "Reconciling"

    revoked = world.beat("a", 2)
    assert revoked.epoch == 2
    assert revoked.assignment is not None
    assert len(revoked.assignment) == 2
    assert world.beat("b", 3).assignment is None
    # Still all of them.
    assert world.beat("a", 2, owned=world.of("t", 0, 1, 2, 3)).epoch == 2
    assert world.beat("b", 3).assignment is None

    assert world.beat("a", 2, owned=revoked.assignment) == BeatAnswer("a", 3, None)
    assert world.beat("b", 3) == BeatAnswer("b", 3, world.of("t", 0, 1, 2, 3) - revoked.assignment)
    assert world.group.state == "Stable"


def test_member_without_heartbeat_is_removed() -> None:
    world = two_members()
    world.beat("b", 3, now_ms=1)

    assert world.group.next_deadline_ms == SESSION_TIMEOUT_MS
    world.group.advance(SESSION_TIMEOUT_MS)

    assert world.refusal("a", 3) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.beat("b", 3).assignment == world.of("t", 0, 1, 2, 3)


def test_member_that_does_not_revoke_is_removed() -> None:
    world = World()
    world.join("a")
    world.join("b")
    world.beat("a", 2, now_ms=5)

    assert world.group.next_deadline_ms == 5 + REBALANCE_MS
    world.group.advance(5 + REBALANCE_MS)

    assert list(world.all_numbers()) == ["b"]
    assert world.beat("b", 3).assignment == world.of("t", 0, 1, 2, 3)


@pytest.mark.parametrize("epoch", [2, 4], ids=["smaller", "greater"])
def test_other_epoch_is_fenced(epoch: int) -> None:
    world = two_members()

    assert world.refusal("a", epoch) is ErrorCode.FENCED_MEMBER_EPOCH
    assert (
        world.refusal("a", epoch, owned=world.of("t", 0, 1, 2, 3)) is ErrorCode.FENCED_MEMBER_EPOCH
    )


def test_previous_epoch_is_accepted() -> None:
    world = two_members()

    assert world.beat("a", 2, owned=frozenset()).epoch == 3


def test_new_topics_and_partitions_are_assigned() -> None:
    """At the next heartbeat; a topic that is deleted is given up."""
    world = World(t=1)
    world.join("a", topics=frozenset(["t", "u"]))

    world.set_topics(t=2, u=1)
    grown = world.beat("a", 2)
    assert grown == BeatAnswer("a", 3, world.of("t", 0, 1) | world.of("u", 0))

    world.set_topics(t=2)
    assert world.beat("a", 3).assignment == world.of("t", 0, 1)
    assert world.beat("a", 3, owned=world.of("t", 0, 1)).epoch == 4

    world.set_topics(t=2, other=1)
    assert world.beat("a", 4) == BeatAnswer("a", 4, None)


def test_pattern_matches_whole_names() -> None:
    world = World(t1=1, t2=1, other=1, t=1)
    world.hidden = {"t2"}

    joined = world.join("a", topics=frozenset(["other"]), pattern="t[0-9]")
    assert joined.assignment == world.of("t1", 0) | world.of("other", 0)

    world.set_topics(t1=1, t2=1, t3=1, other=1, t=1)
    grown = world.beat("a", 2).assignment
    assert grown == world.of("t1", 0) | world.of("t3", 0) | world.of("other", 0)
    (member,) = world.group.describe().members
    assert (member.newer.pattern, sorted(member.newer.matched)) == ("t[0-9]", ["t1", "t3"])

    assert world.beat("a", 3, pattern="").assignment == world.of("other", 0)


def test_description_that_has_not_changed_costs_little() -> None:
    """Each heartbeat describes the group anew: the assignments are not encoded each time."""
    world = World(t=50)
    for number in range(50):
        world.join(f"m{number}")
    with counted_calls() as first:
        before = world.group.describe()

    with counted_calls() as second:
        after = world.group.describe()

    assert before == after
    assert second.count < first.count / 2


def test_patterns_of_all_members_are_matched_a_few_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A heartbeat would take as long as all of them, and nobody else is served meanwhile."""
    monkeypatch.setattr(consumer_group, "TIME_LIMIT_S", 0)
    world = World(t=1)
    for name in "abca":
        epoch = world.join(name, pattern=f"{name}.*").epoch
    world.set_topics(t=1, a1=1, b1=1, c1=1)

    matched = []
    for _ in range(3):
        epoch = world.beat("a", epoch).epoch
        matched.append(sum(len(each.newer.matched) for each in world.group.describe().members))

    assert matched == [1, 2, 3]


def test_pattern_that_is_costly_to_compile_is_refused() -> None:
    """Compiling it takes a minute, in which nobody else is served."""
    world = World(t1=1)

    costly = "(?:a{1000}){1000}" * 50
    assert world.refusal("a", 0, pattern=costly) is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_static_member_returns() -> None:
    world = World()
    world.join("a", instance_id="i")
    assert world.group.leave("a", "i", LEAVE_FOR_A_TIME) == BeatAnswer("a", LEAVE_FOR_A_TIME)
    assert world.refusal("a", 2, instance_id="i") is ErrorCode.FENCED_MEMBER_EPOCH

    back = world.join("b", instance_id="i")

    assert back == BeatAnswer("b", 2, world.of("t", 0, 1, 2, 3))
    assert world.group.epoch == 2
    assert world.refusal("a", 2, instance_id="i") is ErrorCode.FENCED_INSTANCE_ID
    assert world.refusal("b", 2, instance_id="j") is ErrorCode.UNKNOWN_MEMBER_ID


def test_instance_id_belongs_to_one_member() -> None:
    world = World()
    world.join("a", instance_id="i")

    with pytest.raises(ApiError) as refused:
        world.join("b", instance_id="i")

    assert refused.value.code is ErrorCode.UNRELEASED_INSTANCE_ID
    world.group.leave("a", "i", LEAVE)
    assert world.join("b", instance_id="i").epoch == 4


def test_group_size_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer_group, "SIZE_MAX", 1)
    world = World()
    world.join("a")

    assert world.join("a").epoch == 2
    assert world.refusal("b", 0) is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_each_partition_has_at_most_one_owner() -> None:
    world = World(t=7)
    epochs: dict[str, int] = {}
    owned: dict[str, frozenset[Partition]] = {}

    def take(answer: BeatAnswer) -> None:
        epochs[answer.member_id] = answer.epoch
        if answer.assignment is not None:
            owned[answer.member_id] = answer.assignment
        every = [each for has in owned.values() for each in has]
        assert len(every) == len(set(every))

    for coming, going in [("a", ""), ("b", ""), ("c", "a"), ("d", ""), ("e", "c")]:
        take(world.join(coming))
        if going:
            world.group.leave(going, None, LEAVE)
            del epochs[going], owned[going]
        for _ in range(3):
            for name in tuple(epochs):
                take(world.beat(name, epochs[name], owned=owned[name]))

    assert world.group.state == "Stable"
    assert sorted(len(each) for each in owned.values()) == [2, 2, 3]
    assert set(epochs.values()) == {world.group.epoch}


T, U = b"t" * 16, b"u" * 16


def partitions(topic_id: bytes, *numbers: int) -> frozenset[Partition]:
    return frozenset(Partition(topic_id, each) for each in numbers)


def member(
    name: str,
    topics: tuple[bytes, ...] = (T,),
    target: frozenset[Partition] = NO_PARTITIONS,
    instance_id: str | None = None,
) -> Subscriber:
    return Subscriber(name, instance_id, frozenset(topics), target)


@pytest.mark.parametrize("name", ASSIGNORS)
def test_each_partition_has_one_subscribed_owner(name: str) -> None:
    members = [member("a", (T, U)), member("b", (T,)), member("c", ())]

    found = ASSIGNORS[name](members, {T: 5, U: 3, b"v" * 16: 2})

    every = [each for targets in found.values() for each in targets]
    assert sorted(every) == sorted(partitions(T, *range(5)) | partitions(U, *range(3)))
    assert {each.topic_id for each in found["b"]} <= {T}
    assert found["c"] == NO_PARTITIONS


def test_uniform_assignor_moves_minimally() -> None:
    has = {"a": partitions(T, 0, 1, 2), "b": partitions(T, 3, 4, 5)}

    found = assign_uniform([*(member(key, (T,), has[key]) for key in "ab"), member("c")], {T: 6})

    assert {key: len(each) for key, each in found.items()} == {"a": 2, "b": 2, "c": 2}
    assert found["a"] < has["a"]
    assert found["b"] < has["b"]


def test_range_assignor_gives_equal_partition_numbers() -> None:
    members = [member("z", (T, U), instance_id="i"), member("a", (T, U))]

    found = assign_range(members, {T: 3, U: 3})

    assert found == {
        "z": partitions(T, 0, 1) | partitions(U, 0, 1),
        "a": partitions(T, 2) | partitions(U, 2),
    }
