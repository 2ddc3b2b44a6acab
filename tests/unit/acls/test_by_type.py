"""An operation on at least one resource of a type: Kafka's cases."""

from __future__ import annotations

import pytest

from doorkeeper.acls.bulk import load
from doorkeeper.acls.by_type import allowed_on_some
from doorkeeper.acls.model import AclBinding, AclOperation, ResourceType
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, group, topic

ALL = AclOperation.ALL


ON_AB = allow("alice", READ, topic("ab", PREFIXED))
ON_A = allow("alice", READ, topic("a"))


@pytest.mark.parametrize(
    ("world", "allowed"),
    [
        ([ON_A], True),
        ([allow("bob", READ, topic("a")), allow("alice", WRITE, topic("a"))], False),
        (
            [allow("alice", READ, topic("a"), host="10.0.0.9"), allow("alice", READ, group("a"))],
            False,
        ),
        ([ON_A, deny("User:*", READ, topic("a"))], False),
        ([ON_A, deny("alice", ALL, topic("a", PREFIXED))], False),
        ([ON_A, deny("alice", READ, topic("*"))], False),
        ([ON_A, deny("bob", READ, topic("*"))], True),
        ([ON_AB, deny("alice", READ, topic("ab"))], True),
        ([ON_AB, deny("alice", READ, topic("a", PREFIXED))], False),
        ([allow("alice", READ, topic("*")), deny("alice", READ, topic("a", PREFIXED))], True),
    ],
)
def test_allowed_on_some_resource_of_a_type(world: list[AclBinding], *, allowed: bool) -> None:
    snapshot = load((str(place), each) for place, each in enumerate(world))

    answer = allowed_on_some(
        snapshot, ResourceType.TOPIC, READ, principal="User:alice", host="10.0.0.1"
    )

    assert answer is allowed
