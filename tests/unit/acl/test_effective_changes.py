"""The decisions that differ between two sets of ACLs."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acl.decision import Policy, Question, allows
from doorkeeper.acl.effective_changes import (
    ComparisonScope,
    DecisionState,
    EffectiveChange,
    effective_changes,
)
from doorkeeper.acl.host_sets import contains
from doorkeeper.acl.model import WILDCARD_PRINCIPAL, AclOperation, ResourceType
from doorkeeper.acl.operations import SUPPORTED_OPERATIONS
from doorkeeper.acl.regions import WILD, Extent, is_within, names_of, single
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, cluster, deny, topic
from testkit.acl_worlds import loaded
from testkit.counted import counted_calls

if TYPE_CHECKING:
    from doorkeeper.acl.model import AclBinding
    from doorkeeper.acl.regions import NameSet

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
def test_examples(before: World, after: World, expected: list[tuple[object, ...]]) -> None:
    """Regions are as large as they can be; a narrower one has what is otherwise in it."""
    assert rows(before, after) == expected


def test_the_example_is_in_the_region() -> None:
    """Its decision changes, from an address that a client can have."""
    [change] = effective_changes(
        state([allow("a", READ, topic("*"))]),
        state([allow("a", READ, topic("*")), deny("a", READ, topic("x", PREFIXED), "192.0.2.1")]),
    )

    assert change.example == Question("User:a", "192.0.2.1", READ, TOPIC, "xx")


def test_super_users() -> None:
    """One that becomes a super user may do everything; one that is one already, as before."""
    before = state([], Policy(super_users=frozenset({"User:root"})))
    after = state(
        [allow("root", READ, topic("t"))], Policy(super_users=frozenset({"User:root", "User:new"}))
    )

    found = effective_changes(before, after)

    assert {each.principal for each in found} == {"User:new"}
    assert {each.resource_type for each in found} == set(SUPPORTED_OPERATIONS)


def test_a_scope() -> None:
    """Only questions about its names, hosts and principals are compared."""
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


TEXTS = ("", "*", "a", "ab", "abc", "b")
HOSTS = ("*", "10.0.0.1", "10.0.0.0/30", "10.0.0.0/31")
BINDINGS = [
    make(who, operation, topic(name, how), host)
    for make in (allow, deny)
    for who in ("a", "b", "User:*")
    for operation in (READ, WRITE, DESCRIBE, AclOperation.ALL)
    for name in TEXTS
    for how in (PREFIXED, topic("").pattern_type)
    for host in HOSTS
] + [
    make(who, AclOperation.ALTER, cluster(name, how))
    for make in (allow, deny)
    for who in ("a", "User:*")
    for name in ("kafka-cluster", "kafka", "*")
    for how in (PREFIXED, topic("").pattern_type)
]
NAMES = ("*", "**", "*a", "a", "aa", "ab", "abb", "abc", "abcd", "b", "bb", "c", "kafka-cluster")
CLIENTS = ("10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.5", "192.0.2.1", "0:0:0:0:0:0:0:1")
worlds = st.lists(st.sampled_from(BINDINGS), max_size=6)
policies = st.builds(
    Policy,
    super_users=st.sampled_from((frozenset(), frozenset({"User:a"}))),
    allow_everyone=st.booleans(),
)


def is_in(change: EffectiveChange, question: Question, own: list[NameSet]) -> bool:
    """Say whether a region has a question; ``own`` are the names of ACLs of the principal."""
    principal, host, operation, kind, name = question
    names = single(name)
    if change.principal == WILDCARD_PRINCIPAL:
        if any(is_within(names, each) for each in own):
            return False
    elif change.principal != principal:
        return False
    return (
        kind is change.resource_type
        and operation in change.operations
        and is_within(names, change.names)
        and not any(is_within(names, each) for each in change.other_names)
        and contains(change.host, host, networks=True)
        and not any(contains(each, host, networks=True) for each in change.other_hosts)
    )


@settings(max_examples=200)
@given(worlds, worlds, worlds, policies, policies, st.booleans(), st.booleans())
def test_every_question(
    common: World,
    before: World,
    after: World,
    one: Policy,
    other: Policy,
    matches_before: bool,  # noqa: FBT001
    matches_after: bool,  # noqa: FBT001
) -> None:
    """A question is in a region if, and only if, its decision changes."""
    states = (
        state(common + before, one, networks=matches_before),
        state(common + after, other, networks=matches_after),
    )
    changes = effective_changes(*states)

    for each in changes:
        assert [allows(*side, each.example) for side in states] == [not each.allowed, each.allowed]
    bindings = common + before + after
    for principal in ("User:a", "User:b", "User:c"):
        supers = {principal in side.policy.super_users for side in states}
        for kind in (TOPIC, ResourceType.CLUSTER):
            own = [
                names_of(each.pattern)
                for each in bindings
                if each.entry.principal == principal and each.pattern.resource_type is kind
            ]
            names = ("kafka-cluster",) if kind is ResourceType.CLUSTER else NAMES
            for operation, name, client in product(SUPPORTED_OPERATIONS[kind], names, CLIENTS):
                question = Question(principal, client, operation, kind, name)
                was, now = (allows(*side, question) for side in states)
                found = [each.allowed for each in changes if is_in(each, question, own)]
                if supers != {False}:
                    found = [
                        each.allowed
                        for each in changes
                        if each.principal == principal and is_in(each, question, own)
                    ]
                assert (was == now) == (not found), (question, changes)
                assert all(each is now for each in found)


def test_unchanged_acls_cost_little() -> None:
    """One change among twice as many ACLs does not cost twice as much."""
    costs = []
    for size in (1000, 2000):
        world = [allow(f"{n}", READ, topic(f"t{n}")) for n in range(size)]
        before, after = state(world), state([*world, allow("0", WRITE, topic("t0"))])
        with counted_calls() as calls:
            assert len(effective_changes(before, after)) == 1
        costs.append(calls.count)

    assert costs[1] < 3 * costs[0]
