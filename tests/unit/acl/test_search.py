"""Finding bindings through the indexes."""

from __future__ import annotations

import pytest

from doorkeeper.acl.bulk import load
from doorkeeper.acl.model import (
    ANY_BINDING,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    PatternType,
    ResourceType,
)
from doorkeeper.acl.search import SLICE, find, find_each
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, group, topic, wanted

A = allow("alice", READ, topic("orders"))
B = allow("alice", WRITE, topic("orders"), host="10.0.0.1")
C = deny("User:*", READ, topic("or", PREFIXED))
D = allow("alice", AclOperation.ALL, topic("*"))
E = allow("bob", READ, group("orders"))
SNAPSHOT = load((str(place), each) for place, each in enumerate([E, D, C, B, A]))
TOPIC, MATCH = ResourceType.TOPIC, PatternType.MATCH


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (ANY_BINDING, [D, C, A, B, E]),
        (wanted(TOPIC), [D, C, A, B]),
        (wanted(name="orders"), [A, B, E]),
        (wanted(TOPIC, "orders", MATCH), [D, C, A, B]),
        (wanted(TOPIC, "orange", MATCH), [D, C]),
        (wanted(TOPIC, "*", MATCH), [D]),
        (wanted(principal="User:alice"), [D, A, B]),
        (wanted(TOPIC, "orders", MATCH, principal="User:alice"), [D, A, B]),
        (wanted(principal="User:alice", host="10.0.0.1"), [B]),
        (wanted(principal="User:carol"), []),
        (wanted(host="10.0.0.1"), [B]),
        (wanted(operation=AclOperation.ALL), [D]),
        (wanted(TOPIC, pattern_type=PatternType.PREFIXED), [C]),
        (wanted(TOPIC, "or", PatternType.LITERAL), []),
        (wanted(ResourceType.UNKNOWN), []),
        (wanted(pattern_type=PatternType.UNKNOWN), []),
        (wanted(pattern_type=PatternType.UNKNOWN, name="orders"), []),
    ],
)
def test_filters_find(asked: AclBindingFilter, found: list[AclBinding]) -> None:
    """Exactly these, sorted."""
    assert find(SNAPSHOT, asked) == found


def steps_of(filters: list[AclBindingFilter]) -> int:
    steps = 0
    for _ in find_each(MANY, filters, 10_000):
        steps += 1
    return steps


MANY = load(
    (
        str(number),
        allow(f"user-{number % 7}", READ, topic(f"t{number}"), host=f"10.0.0.{number % 100}"),
    )
    for number in range(20 * SLICE)
)


def test_many_filters_cost_one_walk() -> None:
    """However many compare the same fields of all ACLs: as many slices as for one of them."""
    hosts = [wanted(host=f"10.0.1.{number}") for number in range(40)]

    assert steps_of(hosts) == steps_of(hosts[:1]) == pytest.approx(20, abs=1)
    theirs = [wanted(principal="User:user-1", host=f"10.0.1.{number}") for number in range(40)]
    assert steps_of(theirs) == pytest.approx(3, abs=1)


def test_named_filters_visit_what_they_name() -> None:
    """A hundred of them look at a hundred ACLs, not at all."""
    names = [wanted(name=f"t{number}") for number in range(100)]

    assert steps_of(names) <= 2


def test_finding_ends_when_it_is_too_much() -> None:
    """The walk goes no further than one slice beyond."""
    work = find_each(MANY, [wanted(principal=None)] * 2, SLICE)
    next(work)

    with pytest.raises(StopIteration) as end:
        next(work)

    assert end.value.value is None
