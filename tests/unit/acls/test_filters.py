"""Filters against single bindings: Kafka's table of names and pattern types."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acls.filters import matches
from doorkeeper.acls.model import AclOperation, AclPermissionType, PatternType, ResourceType
from testkit.acl import LITERAL, PREFIXED, READ, WRITE, allow, topic, wanted

ANY, MATCH, UNKNOWN = PatternType.ANY, PatternType.MATCH, PatternType.UNKNOWN
STORED = (
    topic("foo"),
    topic("*"),
    topic("fo", PREFIXED),
    topic("foo", PREFIXED),
    topic("foobar", PREFIXED),
)


@pytest.mark.parametrize(
    ("pattern_type", "name", "row"),
    [
        (LITERAL, "foo", "10000"),
        (LITERAL, "*", "01000"),
        (PREFIXED, "foo", "00010"),
        (ANY, "foo", "10010"),
        (MATCH, "foo", "11110"),
        (MATCH, "*", "01000"),
        (ANY, None, "11111"),
        (MATCH, None, "11111"),
        (LITERAL, None, "11000"),
        (PREFIXED, None, "00111"),
        (LITERAL, "FOO", "00000"),
        (UNKNOWN, None, "00000"),
    ],
)
def test_filters_match_names_and_pattern_types(
    pattern_type: PatternType, name: str | None, row: str
) -> None:
    found = [
        matches(wanted(ResourceType.TOPIC, name, pattern_type), allow("a", READ, pattern))
        for pattern in STORED
    ]

    assert found == [each == "1" for each in row]


@pytest.mark.parametrize(
    ("fields", "of_alice", "of_everyone"),
    [
        ({"principal": "User:a", "host": "10.0.0.1", "operation": READ}, True, False),
        ({"principal": "User:*", "host": "*", "operation": AclOperation.ALL}, False, True),
        ({"operation": WRITE}, False, False),
        ({"operation": AclOperation.UNKNOWN}, False, False),
        ({"permission_type": AclPermissionType.DENY}, False, False),
        ({"permission_type": AclPermissionType.UNKNOWN}, False, False),
        ({"resource_type": ResourceType.GROUP}, False, False),
        ({"resource_type": ResourceType.UNKNOWN}, False, False),
        ({}, True, True),
    ],
)
def test_filter_values_are_compared_literally(
    fields: dict[str, Any], *, of_alice: bool, of_everyone: bool
) -> None:
    binding = allow("a", READ, topic("foo"), host="10.0.0.1")
    everyone = allow("User:*", AclOperation.ALL, topic("foo"))

    assert matches(wanted(**fields), binding) is of_alice
    assert matches(wanted(**fields), everyone) is of_everyone
