"""Sets that are loaded, and changes of them."""

from __future__ import annotations

from doorkeeper.acls.bulk import load
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, deny, group, topic

WORLD = [
    ("1", allow("alice", READ, topic("orders"))),
    ("2", allow("alice", WRITE, topic("orders"), host="10.0.0.1")),
    ("3", deny("User:*", READ, topic("or", PREFIXED))),
    ("4", allow("bob", READ, group("*"))),
]


def test_first_of_equal_bindings_is_kept() -> None:
    before = load([*WORLD, ("5", WORLD[0][1])])
    grown = before.with_changes([("6", WORLD[0][1]), ("7", allow("carol", READ, topic("t")))])

    assert (before.count, grown.count) == (4, 5)
    assert before.id_of(WORLD[0][1]) == grown.id_of(WORLD[0][1]) == "1"


def test_equal_patterns_share_one_object() -> None:
    before = load(WORLD)

    grown = before.with_changes([("6", allow("alice", DESCRIBE, topic("orders")))])

    assert len({id(each.pattern) for each in grown.types[2].patterns.literals["orders"]}) == 1


def test_deleted_binding_can_be_created_again() -> None:
    before = load(WORLD)

    again = before.with_changes([("9", WORLD[0][1])], [WORLD[0]])

    assert again.id_of(WORLD[0][1]) == "9"
    assert again.count == before.count
    assert again.types[2].principals == before.types[2].principals
