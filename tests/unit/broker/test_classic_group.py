"""Classic groups: joins, generations, assignments, and members that go."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import astuple

from doorkeeper.base.errors import ErrorCode
from doorkeeper_broker import classic_group
from doorkeeper_broker.classic_group import ClassicGroup, Join, JoinAnswer, Sync, SyncAnswer

SESSION_MS = 10_000
REBALANCE_MS = 60_000


class World:
    """A group, and the answers that its members got."""

    def __init__(self) -> None:
        self.group = ClassicGroup("g")
        self.answers: list[Any] = []

    def join(self, member_id: str = "", new_id: str = "", now_ms: int = 0, **fields: Any) -> Any:
        """Let a member join; return the answer if it came."""
        values: dict[str, Any] = {
            "instance_id": None,
            "client_id": "c",
            "client_host": "/127.0.0.1",
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": REBALANCE_MS,
            "protocol_type": "consumer",
            "protocols": (("range", b"m"),),
            "requires_known_id": False,
            "can_skip_assignment": True,
            **fields,
        }
        count = len(self.answers)
        join = Join(member_id=member_id, new_id=new_id, answer=self.answers.append, **values)
        self.group.join(join, now_ms)
        return self.answers[-1] if len(self.answers) > count else None

    def sync(self, member_id: str, now_ms: int = 0, **fields: Any) -> Any:
        values: dict[str, Any] = {
            "instance_id": None,
            "generation": self.group.generation,
            "protocol_type": "consumer",
            "protocol": "range",
            "assignments": {},
            **fields,
        }
        count = len(self.answers)
        self.group.sync(Sync(member_id, answer=self.answers.append, **values), now_ms)
        return self.answers[-1] if len(self.answers) > count else None

    def heartbeat(self, member_id: str, now_ms: int = 0) -> ErrorCode:
        return self.group.heartbeat(member_id, None, self.group.generation, now_ms)


def stable(*names: str) -> World:
    """Return a group of these members with assignments; the first one leads."""
    world = World()
    for name in names:
        world.join("", name)
        for other in names[: names.index(name)]:
            world.join(other)
    world.sync(names[0], assignments={name: name.encode() for name in names})
    for name in names[1:]:
        world.sync(name)
    world.answers.clear()
    assert world.group.state == "Stable"
    return world


def test_first_member_becomes_leader() -> None:
    world = World()

    joined = world.join("", "a")

    assert astuple(joined)[:3] == (ErrorCode.NONE, "a", 1)
    assert joined.leader == "a"
    assert [each.member_id for each in joined.members] == ["a"]
    assert world.group.state == "CompletingRebalance"
    assert world.sync("a", assignments={"a": b"all"}) == SyncAnswer(
        ErrorCode.NONE, "consumer", "range", b"all"
    )
    assert world.group.state == "Stable"


def test_new_member_receives_its_id_first() -> None:
    world = World()

    asked = world.join("", "a", requires_known_id=True)

    assert asked == JoinAnswer(ErrorCode.MEMBER_ID_REQUIRED, "a")
    assert world.join("a").generation == 1
    assert world.join("b").error is ErrorCode.UNKNOWN_MEMBER_ID


def test_number_of_ids_that_wait_for_their_members_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The oldest is forgotten; its member asks for another one."""
    monkeypatch.setattr(classic_group, "PENDING_MAX", 2)
    world = World()
    for name in "abc":
        world.join("", name, requires_known_id=True)

    assert world.join("a").error is ErrorCode.UNKNOWN_MEMBER_ID
    for name in "bc":
        world.join(name)
    assert [each.generation for each in world.answers[-2:]] == [1, 1]


def test_second_member_starts_a_rebalance() -> None:
    world = stable("a")

    assert world.join("", "b") is None
    assert world.heartbeat("a") is ErrorCode.REBALANCE_IN_PROGRESS
    world.join("a")

    answers = {each.member_id: each for each in world.answers}
    assert {each.generation for each in answers.values()} == {2}
    assert len(answers["a"].members) == 2
    assert answers["b"].members == ()
    world.answers.clear()
    assert world.sync("b") is None
    world.sync("a", assignments={"a": b"1", "b": b"2"})
    assert sorted(each.assignment for each in world.answers) == [b"1", b"2"]


def test_member_that_does_not_rejoin_is_removed() -> None:
    world = stable("a", "b")
    world.join("b", protocols=(("range", b"other"),))

    for now_ms in range(0, REBALANCE_MS, 5_000):
        assert world.heartbeat("a", now_ms) is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.answers == []
    world.group.advance(REBALANCE_MS)

    assert world.answers[0].member_id == world.answers[0].leader == "b"
    assert world.heartbeat("a") is ErrorCode.UNKNOWN_MEMBER_ID


def test_member_without_heartbeat_is_removed() -> None:
    world = stable("a", "b")
    world.heartbeat("a", 5_000)

    assert world.group.next_deadline_ms == SESSION_MS
    world.group.advance(SESSION_MS)

    assert world.heartbeat("b", SESSION_MS) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat("a", SESSION_MS) is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.join("a", now_ms=SESSION_MS).generation == world.group.generation
    world.group.advance(3 * SESSION_MS)
    assert world.group.state == "Empty"
    assert world.group.next_deadline_ms is None


def test_pending_member_expires() -> None:
    world = stable("a")
    world.join("", "p", requires_known_id=True)
    world.join("a", now_ms=1_000)
    assert world.answers[-1].error is ErrorCode.MEMBER_ID_REQUIRED

    world.group.advance(SESSION_MS)

    assert astuple(world.answers[-1])[:3] == (ErrorCode.NONE, "a", 2)


def test_leaving_members_empty_the_group() -> None:
    world = stable("a", "b")

    assert world.group.leave("a", None, 0) is ErrorCode.NONE
    assert world.group.leave("a", None, 0) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.join("b").leader == "b"
    assert world.group.leave("b", None, 0) is ErrorCode.NONE

    group = world.group.describe()
    assert (group.group_id, group.state, group.group_type) == ("g", "Empty", "classic")
    assert group.members == ()
    assert world.heartbeat("b") is ErrorCode.UNKNOWN_MEMBER_ID


def test_protocol_is_chosen_by_members() -> None:
    world = World()
    world.join("", "a", protocols=(("x", b""), ("range", b"1")))

    assert world.join("", "b", protocols=(("y", b""),)).error is (
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    )
    assert world.join("", "b", protocol_type="connect").error is (
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    )
    assert World().join("", "a", protocols=()).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    world.join("", "b")
    world.join("a", protocols=(("x", b""), ("range", b"1")))
    assert world.group.describe().protocol == "range"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"generation": 9}, ErrorCode.ILLEGAL_GENERATION),
        ({"protocol": "other"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "other"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_invalid_sync_is_rejected(fields: dict[str, Any], code: ErrorCode) -> None:
    assert stable("a").sync("a", **fields) == SyncAnswer(code)


def test_member_that_does_not_sync_is_removed() -> None:
    world = World()
    world.join("", "a")
    world.join("", "b")
    world.join("a")
    world.sync("b")
    for now_ms in range(0, REBALANCE_MS, 5_000):
        world.heartbeat("a", now_ms)

    world.group.advance(REBALANCE_MS)

    assert world.answers[-1] == SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)
    assert world.heartbeat("a") is ErrorCode.UNKNOWN_MEMBER_ID


def test_static_member_keeps_its_assignment() -> None:
    world = World()
    world.join("", "a-1", instance_id="a")
    world.sync("a-1", instance_id="a", assignments={"a-1": b"all"})

    again = world.join("", "a-2", instance_id="a")

    assert astuple(again)[:3] == (ErrorCode.NONE, "a-2", 1)
    assert again.skip_assignment
    assert world.group.heartbeat("a-1", "a", 1, 0) is ErrorCode.FENCED_INSTANCE_ID
    assert world.sync("a-2", instance_id="a").assignment == b"all"


def test_first_rebalance_waits_for_more_members() -> None:
    world = World()
    assert world.join("", "a", initial_delay_ms=1_000) is None
    assert world.join("", "b", 900, initial_delay_ms=1_000) is None
    assert world.group.next_deadline_ms == 1_000

    world.group.advance(1_000)
    assert (world.group.state, world.group.next_deadline_ms) == ("PreparingRebalance", 2_000)
    world.group.advance(2_000)

    assert (world.group.state, world.group.generation) == ("CompletingRebalance", 1)
    assert len(world.answers) == 2


def test_group_size_is_limited() -> None:
    world = stable("a", "b")

    assert world.join("", "c", size_max=2).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.join("a", size_max=2) is None
