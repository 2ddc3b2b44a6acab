"""The changes that remove a drift, and those that are held back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acls.live_changes import (
    Held,
    LiveChange,
    LiveCluster,
    RemovalLimits,
    Rule,
    Stage,
)
from doorkeeper.acls.plan import EVERYTHING, SelectorUnion
from doorkeeper.sync.config import ClusterConfig
from doorkeeper.sync.drift import compare
from doorkeeper.sync.enforcement import REPEATS_MAX, Enforcement
from doorkeeper.sync.synchronization import reason_of
from testkit.acl import READ, allow, deny, topic

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from doorkeeper.acls.model import AclBinding

SCOPE = SelectorUnion((EVERYTHING,))
A, B, C = (allow("alice", READ, topic(name)) for name in "abc")
NOT_A = deny("mallory", READ, topic("a"))
ALL_A = allow("*", READ, topic("a"))
LIVE = LiveCluster()


class Followed(Enforcement):
    """An enforcement, and the ACLs that are desired."""

    desired: AbstractSet[AclBinding] = frozenset()


def enforcement(**keys: Any) -> Followed:
    return Followed(ClusterConfig("k", "k:1", {}, SCOPE, interval_s=1, **keys))


def see(
    found: Followed,
    desired: set[AclBinding],
    present: set[AclBinding],
    now_s: float = 0,
    live: LiveCluster = LIVE,
) -> LiveChange:
    """Let an enforcement read a cluster; return its changes."""
    before, found.desired = found.desired, desired
    found.note(frozenset(desired ^ before))
    drift = compare(desired, frozenset(present), SCOPE)
    found.observe(drift, now_s)
    return found.plan(drift, desired, live, now_s)


def sent(change: LiveChange) -> tuple[set[AclBinding], set[AclBinding]]:
    """Return the ACLs that are added, and those that are removed."""
    added, removed = (
        {each for stage in change.stages if stage.adds is adds for each in stage.bindings}
        for adds in (True, False)
    )
    return added, removed


def rules(change: LiveChange) -> list[str]:
    return [each.rule.value for each in change.held]


def test_foreign_changes_are_distinguished() -> None:
    found = enforcement()
    see(found, {A, B}, {A, B})

    see(found, {B, C}, {A, B})
    assert found.foreign == set()
    see(found, {B, C}, {A, C})
    # A is still the removal of before; B is gone although it is desired.
    assert found.foreign == {B}
    see(found, {B, C}, {B, C})
    assert found.foreign == set()


def test_foreign_changes_are_reported_until_resolved() -> None:
    found = enforcement(foreign="report")

    first = see(found, {A}, {C})
    assert (sent(first), rules(first)) == (({A}, set()), ["foreign"])
    assert not see(found, {A}, {A, C}).stages
    assert see(found, {A, C}, {A, C}) == LiveChange()
    # It was desired meanwhile, so that its removal is a change here.
    assert sent(see(found, {A}, {A, C})) == (set(), {C})


def test_acls_at_the_start_may_be_revoked_ones() -> None:
    """A server that has just started does not know whether others have added them."""
    found = enforcement(foreign="report")

    first = see(found, {A}, {A, B})
    later = see(found, {A}, {A, B, C})

    (text,) = [held.reason for held in first.held]
    assert "others have added them, or they were revoked while no server ran" in text
    assert sorted(held.reason[:30] for held in later.held) == [
        "1 ACLs that the store lacks we",
        "1 changes by others are only r",
    ]


def test_deny_is_kept_while_a_foreign_allow_exists() -> None:
    found = enforcement(foreign="report")
    see(found, {NOT_A}, {NOT_A})

    see(found, {NOT_A}, {NOT_A, ALL_A})
    change = see(found, set(), {NOT_A, ALL_A})

    assert (change.stages, rules(change)) == ((), ["foreign", "order"])


MANY = {allow("alice", READ, topic(f"t{number}")) for number in range(20)}


@pytest.mark.parametrize(
    ("limits", "accepted", "is_held"),
    [
        (RemovalLimits(19, 1), [], True),
        (RemovalLimits(20, 1), [], False),
        (RemovalLimits(100, 0.9), [], True),
        (RemovalLimits(100, 0.9), [Rule.SIZE], False),
        (RemovalLimits(100, 0.96), [], False),
    ],
)
def test_removals_are_limited(
    limits: RemovalLimits, accepted: list[Rule], *, is_held: bool
) -> None:
    found = enforcement(limits=limits, accepted=frozenset(accepted))

    change = see(found, {A, B}, {B, *MANY})

    assert sent(change) == ({A}, set() if is_held else MANY)
    assert rules(change) == (["size"] if is_held else [])
    assert all("accept: [size]" in reason_of(each) for each in change.held)


def test_rejected_change_is_retried_with_growing_pauses() -> None:
    found = enforcement()
    now_s, tries = 0.0, []
    while now_s < 40:
        change = see(found, {NOT_A, ALL_A}, {B}, now_s)
        if NOT_A in sent(change)[0]:
            tries.append(now_s)
            found.refuse(frozenset({NOT_A}), "no authorizer", now_s)
            change = found.plan(
                compare({NOT_A, ALL_A}, frozenset({B}), SCOPE), found.desired, LIVE, now_s
            )
        assert (sent(change), rules(change)) == ((set(), {B}), ["refused", "order"])
        now_s += 1
    assert tries == [0, 1, 3, 7, 15, 31]

    see(found, {A}, {A}, now_s)
    see(found, {NOT_A}, set(), now_s)
    found.refuse(frozenset({NOT_A}), "no authorizer", now_s)
    assert sent(see(found, {NOT_A}, set(), now_s + 1)) == ({NOT_A}, set())


def test_repeatedly_reverted_change_is_a_conflict() -> None:
    patient, found = enforcement(), enforcement()
    for number in range(REPEATS_MAX + 1):
        assert sent(see(patient, {A}, set())) == ({A}, set())
        patient.send([Stage(True, (A,))], number * 11.0)
        patient.record(frozenset({A}))
        assert sent(see(found, {A}, set())) == ({A}, set())
        found.send([Stage(True, (A,))], float(number))
        found.record(frozenset({A}))

    assert not patient.conflict
    held = Held(Rule.RIVAL, frozenset({A, B}), found.conflict)
    assert see(found, {A}, {B}, 20) == LiveChange(held=(held,))
    assert not see(found, {A}, {A}, 30).stages
    assert not see(found, {A}, {B}, 41).stages
    # Time without a reading is no time of agreement.
    see(found, {A}, {A}, 500)
    assert found.conflict
    see(found, {A}, {B}, 505)
    see(found, {A}, {A}, 550)
    see(found, {A}, {A}, 561)
    assert sent(see(found, {A}, {A, B}, 562)) == (set(), {B})
