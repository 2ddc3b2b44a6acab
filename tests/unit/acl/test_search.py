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
from doorkeeper.acl.search import find
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
