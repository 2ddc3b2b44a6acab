"""Loading many bindings at once."""

from __future__ import annotations

from doorkeeper.acl.bulk import load
from doorkeeper.acl.snapshot import EMPTY
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, group, topic

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
