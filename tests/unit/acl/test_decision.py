"""Decisions, and the rule that is named for them."""

from __future__ import annotations

import pytest

from doorkeeper.acl.bulk import load
from doorkeeper.acl.decision import (
    DEFAULT_ALLOW,
    DEFAULT_DENY,
    SUPER_USER,
    Decision,
    Policy,
    Question,
    RuleKind,
    allows,
    explain,
)
from doorkeeper.acl.model import AclBinding, AclOperation, ResourceType
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, deny, topic

CLOSED, OPEN = Policy(), Policy(allow_everyone=True)


def question(
    operation: AclOperation = READ, name: str = "orders", host: str = "10.0.0.1"
) -> Question:
    return Question("User:alice", host, operation, ResourceType.TOPIC, name)


def decide(world: list[AclBinding], asked: Question, policy: Policy = CLOSED) -> Decision:
    """Explain, and see that the masks agree."""
    snapshot = load((str(place), each) for place, each in enumerate(world))
    decision = explain(policy, snapshot, asked)
    assert allows(policy, snapshot, asked) is decision.allowed
    return decision


def test_the_defaults() -> None:
    """Nothing there, something there for others, and a super user."""
    others = [allow("bob", READ, topic("orders"))]
    root = Policy(super_users=frozenset({"User:alice"}))

    assert decide([], question()) == DEFAULT_DENY
    assert decide([], question(), OPEN) == DEFAULT_ALLOW
    assert decide(others, question(), OPEN) == DEFAULT_DENY
    assert decide([deny("alice", READ, topic("orders"))], question(), root) == SUPER_USER


def test_a_decision_names_binding_and_id() -> None:
    """The ALLOW that lets in, or the DENY that keeps out."""
    world = [allow("alice", READ, topic("orders")), deny("alice", WRITE, topic("orders"))]

    assert decide(world, question(READ)) == Decision(
        allowed=True, rule=RuleKind.MATCHING_ACL, binding=world[0], binding_id="0"
    )
    assert decide(world, question(WRITE)) == Decision(
        allowed=False, rule=RuleKind.MATCHING_ACL, binding=world[1], binding_id="1"
    )


WALK = [
    allow("alice", READ, topic("orders")),
    allow("alice", WRITE, topic("orders")),
    allow("alice", READ, topic("orders", PREFIXED)),
    allow("User:*", READ, topic("ord", PREFIXED)),
    allow("alice", READ, topic("ord", PREFIXED)),
    allow("alice", READ, topic("ord", PREFIXED), host="10.0.0.1"),
    allow("alice", READ, topic("o", PREFIXED)),
    allow("alice", READ, topic("*")),
]


@pytest.mark.parametrize("length", range(1, len(WALK) + 1))
def test_the_last_allow_of_the_walk_is_reported(length: int) -> None:
    """Literal, prefixes from long to short, the wildcard; then operation, principal, host."""
    assert decide(WALK[:length], question(DESCRIBE)).binding == WALK[length - 1]


@pytest.mark.parametrize("start", range(len(WALK) - 1))
def test_the_first_deny_of_the_walk_is_reported(start: int) -> None:
    """In the same order; ALLOWs do not matter."""
    denials = [
        deny(entry.principal, entry.operation, pattern, entry.host) for pattern, entry in WALK
    ]
    denials = [each for each in denials if each.entry.operation is READ]

    reported = decide([*WALK, *denials[start:]], question(READ)).binding

    assert reported == denials[start]


def test_hosts_decide() -> None:
    """An entry for another address does not count."""
    world = [allow("alice", READ, topic("orders"), host="10.0.0.1")]

    assert decide(world, question(host="10.0.0.1")).allowed
    assert not decide(world, question(host="10.0.0.2")).allowed
