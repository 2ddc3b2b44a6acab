"""What requests would change."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from doorkeeper.acl.bulk import load
from doorkeeper.acl.model import ANY_BINDING, AclBinding, AclOperation
from doorkeeper.acl.snapshot import EMPTY
from doorkeeper.authorizer.plans import (
    Creation,
    Deletion,
    creation_refusals,
    deletion_refusals,
    plan_creation,
    plan_deletion,
)
from doorkeeper.errors import ErrorCode
from doorkeeper.storage.contract import StoredBinding
from testkit.acl import PREFIXED, READ, allow, topic, wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.acl.model import AclBindingFilter
    from doorkeeper.acl.snapshot import Snapshot

A, B = allow("alice", READ, topic("a")), allow("bob", READ, topic("a", PREFIXED))
BAD = AclBinding(A.pattern, A.entry._replace(principal="nobody"))
STATE = load([("id-a", A), ("id-b", B)])


def many(number: int) -> list[AclBinding]:
    return [allow("alice", READ, topic(f"t{place}")) for place in range(number)]


def creation(
    state: Snapshot, bindings: Sequence[AclBinding], new_id: Callable[[], str]
) -> Creation:
    return plan_creation(state, bindings, creation_refusals(bindings), new_id)


def deletion(state: Snapshot, filters: Sequence[AclBindingFilter]) -> Deletion:
    return plan_deletion(state, filters, deletion_refusals(filters))


def ids() -> str:
    return "i" * 22


def test_only_what_is_new_is_added() -> None:
    """What exists and what is repeated is accepted too; what is bad is refused alone."""
    numbers = count()
    c = allow("carol", READ, topic("c"))

    plan = creation(STATE, [A, c, BAD, c], lambda: f"new-{next(numbers)}")

    assert plan.added == (StoredBinding("new-0", c),)
    assert [refusal is None for refusal in plan.refusals] == [True, True, False, True]


def test_ten_thousand_may_be_created_and_not_one_more() -> None:
    """Existing and repeated ones do not count; over it every item gets the same refusal."""
    allowed = creation(STATE, [A, B, *many(10_000), *many(5)], ids)
    refused = creation(STATE, [A, BAD, *many(10_001)], ids)

    assert len(allowed.added) == 10_000
    assert set(allowed.refusals) == {None}
    assert refused.added == ()
    assert len(refused.refusals) == 10_003
    assert {each and each.code for each in refused.refusals} == {ErrorCode.POLICY_VIOLATION}


def test_overlapping_filters_both_report_and_remove_once() -> None:
    """They are matched against the same state."""
    plan = deletion(STATE, [ANY_BINDING, wanted(principal="User:bob")])

    assert plan.matches == ((A, B), (B,))
    assert plan.removed == (StoredBinding("id-a", A), StoredBinding("id-b", B))


def test_a_bad_filter_fails_alone() -> None:
    """The others go on."""
    plan = deletion(STATE, [wanted(operation=AclOperation.UNKNOWN), wanted(name="a")])

    assert [each and each.message for each in plan.refusals] == ["Unknown entryFilter.", None]
    assert plan.matches == ((), (A, B))


def test_ten_thousand_may_be_deleted_and_not_one_more() -> None:
    """Counted over all filters, each ACL once."""
    full = load((str(place), each) for place, each in enumerate(many(10_000)))
    over = full.with_added([("over", A)])

    allowed = deletion(full, [ANY_BINDING, wanted(principal="User:alice")])
    refused = deletion(over, [wanted(name="none"), ANY_BINDING])

    assert len(allowed.removed) == 10_000
    assert refused.removed == ()
    assert refused.matches == ((), ())
    assert [each and each.code for each in refused.refusals] == [ErrorCode.INVALID_REQUEST] * 2


def test_nothing_asked_changes_nothing() -> None:
    """An empty request has an empty plan."""
    assert creation(EMPTY, [], ids).added == ()
    assert deletion(EMPTY, []).removed == ()
