"""Differences, and the desired bindings that follow the state."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from doorkeeper.acls.plan import Selector, SelectorUnion
from doorkeeper.acls.snapshot import STEPS_MAX
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.state import EMPTY, apply_at_once
from doorkeeper.sync import drift as drift_module
from doorkeeper.sync.drift import (
    NO_DRIFT,
    AclDrift,
    DesiredBindings,
    DriftRecord,
    compare,
)
from doorkeeper.sync.remote import common_drift
from testkit.acl import READ, allow, deny, topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.server.state.state import State

SCOPE = SelectorUnion((Selector(prefixes=("p-",)),))
A, B, C = (allow("alice", READ, topic(name)) for name in ("p-a", "p-b", "p-c"))
OUTSIDE = allow("alice", READ, topic("q"))


def row(number: int, binding: Any) -> StoredBinding:
    return StoredBinding(f"id-{number}", binding)


def test_only_the_scope_is_compared() -> None:
    """What is outside is known."""
    found = compare(frozenset({A, B}), frozenset({B, C, OUTSIDE}), SCOPE)

    assert found == AclDrift(frozenset({A}), frozenset({C}), frozenset({OUTSIDE}))


def test_one_lagging_broker_is_no_drift() -> None:
    one = compare(frozenset({A, B}), frozenset({C}), SCOPE)
    other = compare(frozenset({A, B}), frozenset({A}), SCOPE)

    drift = common_drift({1: one, 2: other})
    assert (drift.missing, drift.extra) == (frozenset({B}), frozenset())


def test_drift_has_an_age() -> None:
    record = DriftRecord()
    first, second = (AclDrift(missing=frozenset(missing)) for missing in ({A}, {A, B}))

    assert record.update(first, first.parts, 5) == frozenset({A})
    assert record.update(second, second.parts, 7) == frozenset({B})
    assert record.since_ms == {A: 5, B: 7}
    assert record.update(NO_DRIFT, NO_DRIFT.parts, 9) is None
    assert not record.since_ms
    assert record.update(NO_DRIFT, NO_DRIFT.parts, 9) == frozenset()


def states_after(*changes: Mapping[Any, Any]) -> list[State]:
    """Return the empty state, and that after each change."""
    states = [EMPTY]
    for change in changes:
        states.append(apply_at_once(states[-1], change, states[-1].revision + 1))
    return states


async def test_desired_acls_follow_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    states = states_after(
        edit(ACL, set=[row(1, A), row(2, OUTSIDE)]),
        edit(ACL, set=[row(3, B)], deleted=[row(1, A)]),
        edit(ACL, set=[row(4, A)]),
        edit(ACL, deleted=[row(4, A), row(2, OUTSIDE)]),
        edit(ACL, set=[row(5, A)]),
    )
    desired = DesiredBindings(SCOPE)
    assert not await desired.follow(EMPTY)
    # From here on the ACLs of the state are not read as a whole.
    monkeypatch.setattr(drift_module, "find", lambda *_: pytest.fail("read"))

    assert await desired.follow(states[1]) == AclDrift(frozenset({A}), frozenset())
    assert await desired.follow(states[2]) == AclDrift(frozenset({B}), frozenset({A}))
    assert desired.bindings == {B}
    assert not await desired.follow(replace(states[2], revision=7))
    assert await desired.follow(states[3]) == AclDrift(frozenset({A}), frozenset())
    assert desired.bindings == {A, B}
    # Removed and created again: nothing to do.
    assert not await desired.follow(states[5])


async def test_another_state_is_read_as_a_whole() -> None:
    """After a reload, or so many changes that what they touched is not known any more."""
    many = [edit(ACL, set=[row(number, A)]) for number in range(STEPS_MAX)]
    states = states_after(edit(ACL, set=[row(1, C)]), *many, edit(ACL, set=[row(2, B)]))
    (_, reloaded) = states_after(edit(ACL, set=[row(3, C)]))
    desired = DesiredBindings(SCOPE)
    await desired.follow(states[1])

    assert await desired.follow(states[-1]) == AclDrift(frozenset({A, B}), frozenset())
    assert await desired.follow(reloaded) == AclDrift(frozenset(), frozenset({A, B}))
    assert desired.bindings == {C}


@pytest.mark.parametrize("seed", range(5))
async def test_the_bindings_are_those_of_the_state(seed: int) -> None:
    """Over random changes and jumps, back too; and the networks among them."""
    chance = Random(seed)
    networks = [deny("bob", READ, topic(name), "10.0.0.0/8") for name in ("p-a", "p-n", "q")]
    every = [A, B, C, OUTSIDE, *networks]
    state, states, desired = EMPTY, [EMPTY], DesiredBindings(SCOPE)
    for number in range(300):
        new, gone = (chance.sample(every, chance.randint(0, 3)) for _ in range(2))
        change = edit(
            ACL,
            set=[row(number, binding) for binding in new],
            deleted=[row(number, binding) for binding in gone if binding not in new],
        )
        state = apply_at_once(state, change, state.revision + 1)
        states.append(state)
        if chance.random() < 0.3:
            followed = chance.choice((state, state, state, chance.choice(states)))
            before = set(desired.bindings)
            change_ = await desired.follow(followed)
            here = {each for each in every if each in followed.acls and SCOPE.selects(each)}
            assert desired.bindings == here
            assert desired.networks == here & set(networks)
            assert change_ == AclDrift(frozenset(here - before), frozenset(before - here))
