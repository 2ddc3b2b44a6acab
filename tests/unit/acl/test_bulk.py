"""Loading many bindings at once."""

from __future__ import annotations

from doorkeeper.acl.bulk import extended, load
from doorkeeper.acl.snapshot import EMPTY
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, deny, group, topic

WORLD = [
    ("1", allow("alice", READ, topic("orders"))),
    ("2", allow("alice", WRITE, topic("orders"), host="10.0.0.1")),
    ("3", deny("User:*", READ, topic("or", PREFIXED))),
    ("4", allow("bob", READ, group("*"))),
]


def test_loading_equals_adding() -> None:
    """One by one or all at once, the indexes are the same."""
    loaded, added = load(WORLD), EMPTY.with_added(WORLD)

    assert loaded.types == added.types
    assert loaded.count == added.count == 4


def test_of_equal_bindings_the_first_counts() -> None:
    """It keeps its id."""
    snapshot = load([*WORLD, ("5", WORLD[0][1])])

    assert snapshot.count == 4
    assert snapshot.id_of(WORLD[0][1]) == "1"


def test_nothing_gives_the_empty_snapshot() -> None:
    """With nothing in any index."""
    assert load([]).types == EMPTY.types


def test_adding_many_equals_adding_each() -> None:
    """To patterns and principals that are there, and to new ones; what exists keeps its id."""
    before = load(WORLD)
    more = [
        ("6", allow("alice", DESCRIBE, topic("orders"))),
        ("7", WORLD[0][1]),
        ("8", allow("carol", READ, topic("or", PREFIXED))),
        ("9", allow("carol", READ, topic("longer", PREFIXED))),
        ("10", allow("carol", READ, topic("longer", PREFIXED))),
        ("11", deny("User:*", READ, group("new"), host="10.0.0.1")),
    ]

    grown, singly = extended(before, more), before.with_added(more)

    assert grown.types == singly.types
    assert grown.count == singly.count == 8
    assert grown.id_of(WORLD[0][1]) == "1"
    assert grown.types[2].patterns.lengths == singly.types[2].patterns.lengths
    assert before.types == load(WORLD).types


def test_one_pattern_is_one_object() -> None:
    """However many bindings it has: memory depends on it."""
    before = load(WORLD)

    grown = extended(before, [("6", allow("alice", DESCRIBE, topic("orders")))])

    assert len({id(each.pattern) for each in grown.types[2].patterns.literals["orders"]}) == 1


def test_adding_nothing_changes_nothing() -> None:
    """Also where all of it was there."""
    before = load(WORLD)

    assert extended(before, []).types == extended(before, WORLD).types == before.types
