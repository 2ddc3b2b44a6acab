"""Hints about ACLs that do less than they say."""

from __future__ import annotations

import pytest

from doorkeeper.acl.model import (
    AclBinding,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.authorizer.hints import hints
from testkit.acl import READ, WRITE, allow, deny, group, topic, user

CLUSTER = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL)
GROUP_OPERATIONS = (
    "the operations of GROUP are READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS"
)


@pytest.mark.parametrize(
    ("binding", "hint"),
    [
        (
            deny("alice", WRITE, group("g")),
            (
                f"the ACL DENY WRITE for User:alice on GROUP:LITERAL:g has no effect:"
                f" {GROUP_OPERATIONS}"
            ),
        ),
        (
            allow("alice", WRITE, group("g")),
            (
                f"the ACL ALLOW WRITE for User:alice on GROUP:LITERAL:g allows DESCRIBE only:"
                f" {GROUP_OPERATIONS}"
            ),
        ),
    ],
)
def test_what_does_not_fit_is_told(binding: AclBinding, hint: str) -> None:
    """In one line: the ACL, what is left of it, and what would fit."""
    assert list(hints([binding])) == [hint]


def test_what_fits_is_passed_over() -> None:
    """ALL fits everywhere."""
    fitting = [
        allow("a", READ, topic("t")),
        deny("a", AclOperation.ALL, CLUSTER),
        allow("a", AclOperation.IDEMPOTENT_WRITE, CLUSTER),
    ]

    assert list(hints([*fitting, allow("a", AclOperation.CREATE_TOKENS, topic("t"))])) == [
        (
            "the ACL ALLOW CREATE_TOKENS for User:a on TOPIC:LITERAL:t has no effect: the"
            " operations of"
            " TOPIC are READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS,"
            " ALTER_CONFIGS"
        )
    ]


def test_a_user_without_a_type_is_told() -> None:
    """As the documented --user-principal "owner1" names it: nothing is ever asked about that."""
    tokens = AclOperation.CREATE_TOKENS
    by_name = allow("requester", tokens, user("owner1"))
    prefixed = ResourcePattern(ResourceType.USER, "own", PatternType.PREFIXED)
    whole = [allow("requester", tokens, user(name)) for name in ("User:owner1", "*")]

    assert list(hints([by_name, *whole, allow("requester", tokens, prefixed)])) == [
        (
            "the ACL ALLOW CREATE_TOKENS for User:requester on USER:LITERAL:owner1 has no effect: a"
            " user is asked about by its whole principal, as User:owner1"
        )
    ]
