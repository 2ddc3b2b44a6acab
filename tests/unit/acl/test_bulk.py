"""Loading many bindings at once."""

from __future__ import annotations

from doorkeeper.acl.bulk import load
from doorkeeper.acl.snapshot import EMPTY, MANY, apply_edits
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

    grown, singly = apply_edits(before, more), before.with_added(more)

    assert grown.types == singly.types
    assert grown.count == singly.count == 8
    assert grown.id_of(WORLD[0][1]) == "1"
    assert grown.types[2].patterns.lengths == singly.types[2].patterns.lengths
    assert before.types == load(WORLD).types


def test_one_pattern_is_one_object() -> None:
    """However many bindings it has: memory depends on it."""
    before = load(WORLD)

    grown = apply_edits(before, [("6", allow("alice", DESCRIBE, topic("orders")))])

    assert len({id(each.pattern) for each in grown.types[2].patterns.literals["orders"]}) == 1


def test_adding_nothing_changes_nothing() -> None:
    """Also where all of it was there."""
    before = load(WORLD)

    assert apply_edits(before, []).types == apply_edits(before, WORLD).types == before.types


def test_deleting_many_equals_deleting_each() -> None:
    """No empty group, cell, principal or length stays; what is missing stays missing."""
    before = load(WORLD)
    gone = [WORLD[1], WORLD[2], ("5", allow("dave", READ, topic("none"))), WORLD[1]]

    fewer = apply_edits(before, (), gone)

    assert fewer.types == before.without([binding for _, binding in gone]).types
    assert fewer.count == 2
    assert fewer.types[2].patterns.lengths == ()
    assert apply_edits(before, (), WORLD).types == EMPTY.types


def test_a_binding_may_be_deleted_and_created_again() -> None:
    """It has the new id, and its cell is as before."""
    before = load(WORLD)

    again = apply_edits(before, [("9", WORLD[0][1])], [WORLD[0]])

    assert again.id_of(WORLD[0][1]) == "9"
    assert again.count == before.count
    assert again.types[2].principals == before.types[2].principals


def test_few_and_many_changes_lead_to_the_same_state() -> None:
    """Whichever way is the faster one."""
    before = load(WORLD)
    more = [(str(number), allow("erin", READ, topic(f"t{number}"))) for number in range(MANY)]

    for added in (more, more[:1]):
        expected = before.without([WORLD[3][1]]).with_added(added)
        assert before.with_changes(added, [WORLD[3]]).types == expected.types
