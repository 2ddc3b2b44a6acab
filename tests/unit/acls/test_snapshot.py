"""Snapshots: what they hold, and what a change leaves alone."""

from __future__ import annotations

from doorkeeper.acls.bulk import load
from doorkeeper.acls.model import ResourceType
from doorkeeper.acls.operations import ALLOW_TESTS
from doorkeeper.acls.snapshot import EMPTY, Snapshot
from testkit.acl import READ, allow, group, topic

A = allow("alice", READ, topic("orders"))


def test_networks_match_from_kafka_4_4() -> None:
    networked = allow("alice", READ, topic("orders"), host="10.0.0.0/8")
    others = [allow(f"user-{number}", READ, topic("orders")) for number in range(8)]
    rows = [(str(number), each) for number, each in enumerate([networked, *others])]

    def reads(snapshot: Snapshot) -> bool:
        asked = (ResourceType.TOPIC, "orders", "User:alice", "10.1.2.3")
        return bool(snapshot.effective_mask(*asked) & ALLOW_TESTS[READ])

    for before in (EMPTY.with_changes(rows), load(rows)):
        after = before.with_network_matching(enabled=True)
        assert not reads(before)
        assert reads(after)
        assert not reads(after.with_network_matching(enabled=False))
        assert not reads(after.without([networked]))
        assert not reads(after.with_changes((), rows))
        assert set(before.networks) == {"10.0.0.0/8"}
        assert not after.with_changes((), rows).networks


def test_unchanged_resource_types_are_shared() -> None:
    """Other resource types stay the very same objects."""
    snapshot = EMPTY.with_changes([("1", A)])
    changed = snapshot.with_changes([("2", allow("bob", READ, group("g")))])

    assert changed.types[ResourceType.TOPIC] is snapshot.types[ResourceType.TOPIC]
    assert changed.types[ResourceType.GROUP] is not snapshot.types[ResourceType.GROUP]
