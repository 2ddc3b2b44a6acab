"""Decisions, and the rule that is named for them.

tests/property/acl/test_decisions.py compares them with the reference.
"""

from __future__ import annotations

from doorkeeper.acls.bulk import load
from doorkeeper.acls.decision import (
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
from doorkeeper.acls.model import AclBinding, AclOperation, ResourceType
from testkit.acl import READ, WRITE, allow, deny, topic

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


def test_default_decisions() -> None:
    others = [allow("bob", READ, topic("orders"))]
    root = Policy(super_users=frozenset({"User:alice"}))

    assert decide([], question()) == DEFAULT_DENY
    assert decide([], question(), OPEN) == DEFAULT_ALLOW
    assert decide(others, question(), OPEN) == DEFAULT_DENY
    assert decide([deny("alice", READ, topic("orders"))], question(), root) == SUPER_USER


def test_decision_has_binding_and_id() -> None:
    world = [allow("alice", READ, topic("orders")), deny("alice", WRITE, topic("orders"))]

    assert decide(world, question(READ)) == Decision(
        allowed=True, rule=RuleKind.MATCHING_ACL, binding=world[0], binding_id="0"
    )
    assert decide(world, question(WRITE)) == Decision(
        allowed=False, rule=RuleKind.MATCHING_ACL, binding=world[1], binding_id="1"
    )
