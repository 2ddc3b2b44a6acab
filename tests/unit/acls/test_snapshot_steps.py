"""The way from one state of the ACLs to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.bulk import load
from doorkeeper.acls.snapshot import EMPTY, STEPS_MAX, Snapshot, touched_since
from testkit.acl import PREFIXED, READ, WRITE, allow, group, topic

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding, ResourcePattern

READS_A = allow("alice", READ, topic("a"))
WRITES_A = allow("alice", WRITE, topic("a"))
READS_B = allow("alice", READ, topic("b", PREFIXED))
READS_G = allow("alice", READ, group("g"))


def added(snapshot: Snapshot, *bindings: AclBinding) -> Snapshot:
    return snapshot.with_changes([(str(number), each) for number, each in enumerate(bindings)])


def way(before: Snapshot, after: Snapshot) -> set[ResourcePattern] | None:
    """Return what was touched; None: nobody knows."""
    found = touched_since(before.steps[-1], after.steps)
    return None if found is None else set(found)


def test_change_records_touched_patterns() -> None:
    nothing = load([])
    few = added(nothing, READS_A, READS_G)
    many = few.with_changes([("2", WRITES_A), ("3", READS_B)])
    fewer = many.without([READS_G])

    assert way(nothing, few) == {topic("a"), group("g")}
    assert way(few, many) == {topic("a"), topic("b", PREFIXED)}
    assert way(many, fewer) == {group("g")}
    assert way(few, fewer) == {topic("a"), topic("b", PREFIXED), group("g")}


def test_state_has_no_difference_from_itself() -> None:
    state = added(EMPTY, READS_A)

    assert way(state, state) == set()
    assert way(state, added(state, READS_A)) == set()
    assert way(state, state.without([READS_B])) == set()


def test_unrelated_states_have_no_steps() -> None:
    state = added(EMPTY, READS_A)
    failed = added(state, READS_B)
    after = added(state, READS_G)

    assert way(failed, state) is None
    assert way(failed, after) is None
    assert way(state, after) == {group("g")}
    assert way(load([]), load([])) is None


def test_old_steps_are_dropped() -> None:
    states = [EMPTY]
    for number in range(STEPS_MAX + 10):
        states.append(added(states[-1], allow("alice", READ, topic(str(number)))))

    assert len(states[-1].steps) == STEPS_MAX
    assert way(states[-STEPS_MAX], states[-1]) == {
        topic(str(number)) for number in range(11, STEPS_MAX + 10)
    }
    assert way(states[-STEPS_MAX - 1], states[-1]) is None


@pytest.mark.parametrize("each", [5, 20, 21])
def test_number_of_recorded_patterns_is_limited(monkeypatch: pytest.MonkeyPatch, each: int) -> None:
    monkeypatch.setattr("doorkeeper.acls.snapshot.PATTERNS_MAX", 20)
    state = EMPTY
    for change in range(6):
        before = state
        some = [allow("alice", READ, topic(f"{change}-{number}")) for number in range(each)]
        state = state.with_changes([(f"{change}-{at}", one) for at, one in enumerate(some)])
        named = way(before, state)
        assert named == (None if each > 20 else {one.pattern for one in some})

    assert sum(len(step.patterns) for step in state.steps[1:]) <= 20
