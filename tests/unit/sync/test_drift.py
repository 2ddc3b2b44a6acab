"""Differences, and the desired bindings that follow the state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from doorkeeper.acls.plan import Selector, SelectorUnion
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import SERVER, Committed, edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.state import EMPTY, apply_at_once
from doorkeeper.sync import drift as drift_module
from doorkeeper.sync.drift import (
    NO_DRIFT,
    AclDrift,
    DesiredBindings,
    DesiredChange,
    DriftRecord,
    common,
    compare,
)
from testkit.acl import READ, allow, topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.server.state.state import State

SCOPE = SelectorUnion((Selector(prefixes=("p-",)),))
A, B, C = (allow("alice", READ, topic(name)) for name in ("p-a", "p-b", "p-c"))
OUTSIDE = allow("alice", READ, topic("q"))


def row(number: int, binding: Any) -> StoredBinding:
    return StoredBinding(f"id-{number}", binding)


def after(state: State, change: Mapping[Any, Any]) -> State:
    """Return the state after a change."""
    return apply_at_once(state, change, state.revision + 1)


def test_only_the_scope_is_compared() -> None:
    """What is outside is known."""
    found = compare(frozenset({A, B}), frozenset({B, C, OUTSIDE}), SCOPE)

    assert found == AclDrift(frozenset({A}), frozenset({C}), frozenset({OUTSIDE}))


def test_one_broker_alone_may_lag() -> None:
    """A drift is what all brokers show."""
    one = compare(frozenset({A, B}), frozenset({C}), SCOPE)
    other = compare(frozenset({A, B}), frozenset({A}), SCOPE)

    drift = common([one, other])
    assert (drift.missing, drift.extra) == (frozenset({B}), frozenset())


def test_a_drift_has_its_age() -> None:
    """That of each binding, and the oldest one; each is news once, and so is their end."""
    record = DriftRecord()
    first, second = (AclDrift(missing=frozenset(missing)) for missing in ({A}, {A, B}))

    assert record.update(first, first.parts, 5) == frozenset({A})
    assert record.update(second, second.parts, 7) == frozenset({B})
    assert record.since_ms == {A: 5, B: 7}
    assert record.oldest_ms == 5
    assert record.update(NO_DRIFT, NO_DRIFT.parts, 9) is None
    assert not record.since_ms
    assert record.update(NO_DRIFT, NO_DRIFT.parts, 9) == frozenset()


async def test_the_desired_bindings_follow_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its changes; a state before the newest has only those up to its revision."""
    desired = DesiredBindings(SCOPE)
    changes = [
        edit(ACL, set=[row(1, A), row(2, OUTSIDE)]),
        edit(ACL, set=[row(3, B)], deleted=[row(1, A)]),
        edit(ACL, set=[row(4, A)]),
    ]
    states = [EMPTY]
    assert not await desired.follow(EMPTY)
    for change in changes:
        states.append(after(states[-1], change))
        desired.note(Committed(states[-1].revision, change, SERVER))
    # From here on the ACLs of the state are not read.
    monkeypatch.setattr(drift_module, "desired_bindings", lambda *_: pytest.fail("read"))

    assert await desired.follow(states[1]) == DesiredChange(frozenset({A}), frozenset())
    assert await desired.follow(states[2]) == DesiredChange(frozenset({B}), frozenset({A}))
    assert desired.bindings == {B}
    assert not await desired.follow(replace(states[2]))
    assert await desired.follow(states[3]) == DesiredChange(frozenset({A}), frozenset())
    assert desired.bindings == {A, B}


async def test_after_a_reload_everything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where too many changes wait for a canary: until a state that has them all."""
    monkeypatch.setattr(drift_module, "_CHANGES_MAX", 1)
    desired = DesiredBindings(SCOPE)
    await desired.follow(EMPTY)
    changes = [edit(ACL, set=[row(number, each)]) for number, each in enumerate((A, B, C))]
    states = [EMPTY]
    for change in changes:
        states.append(after(states[-1], change))
        desired.note(Committed(states[-1].revision, change, None))

    assert await desired.follow(states[1]) == DesiredChange(frozenset({A}), frozenset())
    assert await desired.follow(states[3]) == DesiredChange(frozenset({B, C}), frozenset())
    desired.note(Committed(states[3].revision, {}, None))
    assert not await desired.follow(states[3])
    assert desired.bindings == {A, B, C}
