"""The decisions that differ between two sets of ACLs.

tests/property/acl/test_solved_answers.py compares them with a solver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.effective_changes import ComparisonScope, DecisionState, effective_changes
from doorkeeper.acls.model import ResourceType
from doorkeeper.acls.regions import WILD, Extent, single
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, deny, topic
from testkit.acl_worlds import loaded
from testkit.counted import counted_calls

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding

PLAIN = Policy()
TOPIC = ResourceType.TOPIC
World = list["AclBinding"]


def state(world: World, policy: Policy = PLAIN, *, networks: bool = True) -> DecisionState:
    return DecisionState(policy, loaded(*set(world)).with_network_matching(enabled=networks))


def rows(before: World, after: World) -> list[tuple[object, ...]]:
    return [
        (each.principal, each.names, each.other_names, each.host, each.operations, each.allowed)
        for each in effective_changes(state(before), state(after))
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([], [], []),
        # Rows change, decisions do not.
        ([allow("a", READ, topic("t", PREFIXED))],
         [allow("a", READ, topic("t", PREFIXED)), allow("a", DESCRIBE, topic("tu"))], []),
        ([], [allow("a", READ, topic("*"))],
         [("User:a", WILD, (), "*", (READ, DESCRIBE), True)]),
        ([], [allow("User:*", READ, topic("t")), deny("bad", READ, topic("t"))],
         [("User:*", single("t"), (), "*", (READ, DESCRIBE), True),
          ("User:bad", single("t"), (), "*", (DESCRIBE,), True)]),
        ([allow("a", WRITE, topic("pii-", PREFIXED)), deny("a", WRITE, topic("pii-h", PREFIXED))],
         [allow("a", DESCRIBE, topic("pii-", PREFIXED)),
          deny("a", WRITE, topic("pii-h", PREFIXED))],
         [("User:a", Extent("pii-"), (Extent("pii-h"),), "*", (WRITE,), False)]),
        ([], [allow("a", READ, topic("t")), deny("a", READ, topic("t"), "10.0.0.0/8")],
         [("User:a", single("t"), (), "*", (READ, DESCRIBE), True),
          ("User:a", single("t"), (), "10.0.0.0/8", (DESCRIBE,), True)]),
    ],
)  # fmt: skip
def test_effective_changes_as_regions(
    before: World, after: World, expected: list[tuple[object, ...]]
) -> None:
    assert rows(before, after) == expected


@pytest.mark.parametrize("opens", [True, False])
def test_change_of_allow_everyone_default(*, opens: bool) -> None:
    policies = (PLAIN, Policy(allow_everyone=True))
    before, after = (
        state([allow("a", READ, topic("t"))], policies[which]) for which in (not opens, opens)
    )

    found = [
        each
        for each in effective_changes(before, after)
        if (each.principal, each.resource_type) == ("User:*", TOPIC)
    ]

    assert {each.allowed for each in found} == {opens}
    assert all(not each.names.contains(single("t")) or each.other_names for each in found)


def test_effective_changes_within_a_scope() -> None:
    before = state([])
    after = state([allow("a", READ, topic("*")), allow("User:*", READ, topic("pii-x"))])

    found = effective_changes(
        before,
        after,
        ComparisonScope((TOPIC,), Extent("pii-"), "10.0.0.0/8", frozenset({"User:b"})),
    )

    assert [(each.principal, each.names, each.host) for each in found] == [
        ("User:b", single("pii-x"), "10.0.0.0/8")
    ]


def test_cost_does_not_grow_with_unchanged_acls() -> None:
    costs = []
    for size in (200, 400):
        world = [allow(f"{n}", READ, topic(f"t{n}")) for n in range(size)]
        before, after = state(world), state([*world, allow("0", WRITE, topic("t0"))])
        with counted_calls() as calls:
            assert len(effective_changes(before, after)) == 1
        costs.append(calls.count)

    assert costs[1] < 3 * costs[0]
