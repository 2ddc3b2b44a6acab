"""Snapshots: what they hold, and what a change leaves alone."""

from __future__ import annotations

from doorkeeper.acl.bulk import load
from doorkeeper.acl.model import AclOperation, ResourceType
from doorkeeper.acl.operations import ALLOW_TESTS, DENY_TESTS
from doorkeeper.acl.snapshot import EMPTY, MANY, Snapshot
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, group, topic

A = allow("alice", READ, topic("orders"))
B = allow("alice", WRITE, topic("orders"), host="10.0.0.1")
C = deny("User:*", READ, topic("or", PREFIXED))


def test_a_binding_keeps_its_id() -> None:
    """Creating it again changes neither the id nor the count."""
    snapshot = EMPTY.with_added([("1", A), ("2", B), ("3", A)]).with_added([("4", B)])

    assert (snapshot.id_of(A), snapshot.id_of(B), snapshot.id_of(C)) == ("1", "2", None)
    assert (snapshot.count, len(snapshot)) == (2, 2)
    assert A in snapshot
    assert C not in snapshot


def test_deleting_what_is_missing_changes_nothing() -> None:
    """Neither the count nor the indexes."""
    snapshot = EMPTY.with_added([("1", A)])

    assert snapshot.without([B, C]).types == snapshot.types
    assert snapshot.without([A, A]).count == 0


def test_a_mask_joins_principals_patterns_and_hosts() -> None:
    """All that covers the resource, for the principal and for everyone."""
    snapshot = EMPTY.with_added([("1", A), ("2", B), ("3", C)])

    near = snapshot.effective_mask(ResourceType.TOPIC, "orders", "User:alice", "10.0.0.1")
    far = snapshot.effective_mask(ResourceType.TOPIC, "orders", "User:alice", "10.0.0.2")

    assert near & DENY_TESTS[READ]
    assert near & ALLOW_TESTS[WRITE]
    assert not far & ALLOW_TESTS[WRITE]
    assert far & ALLOW_TESTS[AclOperation.DESCRIBE]
    assert not snapshot.effective_mask(ResourceType.GROUP, "orders", "User:alice", "10.0.0.1")


def test_networks_match_from_kafka_4_4_on() -> None:
    """Before, a host is text; whichever way the ACLs came into the snapshot."""
    networked = allow("alice", READ, topic("orders"), host="10.0.0.0/8")
    others = [allow(f"user-{number}", READ, topic("orders")) for number in range(MANY)]
    rows = [(str(number), each) for number, each in enumerate([networked, *others])]

    def reads(snapshot: Snapshot) -> bool:
        asked = (ResourceType.TOPIC, "orders", "User:alice", "10.1.2.3")
        return bool(snapshot.effective_mask(*asked) & ALLOW_TESTS[READ])

    for before in (EMPTY.with_added(rows), EMPTY.with_changes(rows, ()), load(rows)):
        after = before.with_network_matching(enabled=True)
        assert not reads(before)
        assert reads(after)
        assert not reads(after.with_network_matching(enabled=False))
        assert not reads(after.without([networked]))
        assert not reads(after.with_changes((), rows))
        assert set(before.networks) == {"10.0.0.0/8"}
        assert not after.with_changes((), rows).networks


def test_coverage_asks_for_any_pattern_of_anybody() -> None:
    """The literal, a prefix or the wildcard, of the same type."""
    snapshot = EMPTY.with_added([("1", A), ("3", C), ("4", deny("bob", READ, group("*")))])

    assert snapshot.covers(ResourceType.TOPIC, "orders")
    assert snapshot.covers(ResourceType.TOPIC, "orange")
    assert not snapshot.covers(ResourceType.TOPIC, "o")
    assert snapshot.covers(ResourceType.GROUP, "any")
    assert not snapshot.covers(ResourceType.GROUP, "*any")
    assert not snapshot.without([C]).covers(ResourceType.TOPIC, "orange")


def test_a_change_shares_what_it_does_not_touch() -> None:
    """Other resource types stay the very same objects."""
    snapshot = EMPTY.with_added([("1", A)])
    changed = snapshot.with_added([("2", allow("bob", READ, group("g")))])

    assert changed.types[ResourceType.TOPIC] is snapshot.types[ResourceType.TOPIC]
    assert changed.types[ResourceType.GROUP] is not snapshot.types[ResourceType.GROUP]
