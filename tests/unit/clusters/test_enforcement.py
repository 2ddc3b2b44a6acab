"""The changes that remove a drift, and those that are held back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.acl.plan import EVERYTHING, SelectorUnion
from doorkeeper.clusters.config import ClusterConfig, EnforcementLimits, Foreign
from doorkeeper.clusters.drift import DesiredChange, compare
from doorkeeper.clusters.enforcement import REPEATS_MAX, AclEdits, Enforcement
from testkit.acl import READ, allow, topic

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from doorkeeper.acl.model import AclBinding

SCOPE = SelectorUnion((EVERYTHING,))
A, B, C = (allow("alice", READ, topic(name)) for name in "abc")


class Followed(Enforcement):
    """An enforcement, and the ACLs that are desired."""

    desired: AbstractSet[AclBinding] = frozenset()


def enforcement(foreign: Foreign = Foreign.REVERT, removals_max: int = 100) -> Followed:
    limits = EnforcementLimits(removals_max=removals_max)
    return Followed(
        ClusterConfig("k", "k:1", {}, SCOPE, foreign=foreign, interval_s=1, limits=limits)
    )


def see(
    found: Followed, desired: set[AclBinding], present: set[AclBinding], now_s: float = 0
) -> AclEdits:
    """Let an enforcement read a cluster; return its changes."""
    before, found.desired = found.desired, desired
    found.note(DesiredChange(frozenset(desired - before), frozenset(before - desired)))
    drift = compare(desired, frozenset(present), SCOPE)
    found.observe(drift, now_s)
    return found.plan(drift)


def test_additions_come_before_removals() -> None:
    """In batches of at most a size, so that no permission of both sets is interrupted."""
    edits = AclEdits(added=(A, B), removed=(C,))

    assert list(edits.batches(1)) == [(True, (A,)), (True, (B,)), (False, (C,))]
    assert list(edits.batches(10)) == [(True, (A, B)), (False, (C,))]


def test_what_others_did_is_told_from_what_was_changed_here() -> None:
    """A binding that was desired differently at the last reading is this server's own."""
    found = enforcement()
    see(found, {A, B}, {A, B})

    see(found, {B, C}, {A, B})
    assert found.foreign == set()
    see(found, {B, C}, {A, C})
    # A is still the removal of before; B is gone although it is desired.
    assert found.foreign == {B}
    see(found, {B, C}, {B, C})
    assert found.foreign == set()


def test_foreign_changes_are_reported_until_they_are_gone() -> None:
    """Removals and additions of this server are made beside them."""
    found = enforcement(Foreign.REPORT)

    assert see(found, {A}, {C}) == AclEdits((A,), (), "1 changes of others are reported only")
    assert see(found, {A}, {A, C}).removed == ()
    assert see(found, {A, C}, {A, C}) == AclEdits()
    # It was desired meanwhile, so that its removal is a change here.
    assert see(found, {A}, {A, C}) == AclEdits((), (C,))


@pytest.mark.parametrize(("removals_max", "removed"), [(0, ()), (1, ()), (2, (B, C))])
def test_removals_are_all_or_none(removals_max: int, removed: tuple[AclBinding, ...]) -> None:
    """An empty store must not empty a cluster."""
    edits = see(enforcement(removals_max=removals_max), {A}, {B, C})

    assert (edits.added, edits.removed) == ((A,), removed)
    assert bool(edits.held) is (not removed)


def test_a_change_that_does_not_last_is_anothers_work() -> None:
    """So many times within ten intervals each; a rare repetition is none."""
    patient, found = enforcement(), enforcement()
    for number in range(REPEATS_MAX + 1):
        assert see(patient, {A}, set()).added == (A,)
        patient.record(AclEdits((A,)), now_s=number * 11.0)
        assert see(found, {A}, set()).added == (A,)
        found.record(AclEdits((A,)), now_s=float(number))

    assert not patient.conflict
    assert see(found, {A}, {B}, 20) == AclEdits(held=found.conflict)
    assert see(found, {A}, {A}, 30) == AclEdits(held=found.conflict)
    assert see(found, {A}, {B}, 41) == AclEdits(held=found.conflict)
    see(found, {A}, {A}, 50)
    see(found, {A}, {A}, 61)
    assert see(found, {A}, {A, B}, 62) == AclEdits((), (B,))
