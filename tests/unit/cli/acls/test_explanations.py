"""Explanations in words."""

from __future__ import annotations

import pytest

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.effective_changes import DecisionState
from doorkeeper.acls.explanation import explanation
from doorkeeper.acls.model import AclBinding, AclOperation, ResourceType
from doorkeeper.cli.acls.addresses import Location
from doorkeeper.cli.acls.explanations import (
    Answer,
    because,
    lines_of,
    record_of,
    sentence,
    side_effects,
)
from doorkeeper.cli.repositories.addresses import parse_address
from testkit.acl import PREFIXED, READ, allow, deny, topic
from testkit.acl_worlds import loaded

PLAIN = Policy()
OPEN = Policy(allow_everyone=True)
SUPER = Policy(super_users=frozenset({"User:a"}))
ASKED = Question("User:a", "*", READ, ResourceType.TOPIC, "orders")
EVERYTHING = allow("a", AclOperation.ALL, topic("ord", PREFIXED))


def answer(*world: AclBinding, policy: Policy = PLAIN, question: Question = ASKED) -> Answer:
    state = DecisionState(policy, loaded(*world))
    return Answer(explanation(*state, question), state, Location(parse_address("x")))


@pytest.mark.parametrize(
    ("policy", "world", "rule", "text"),
    [
        (SUPER, (), "SuperUser", "is a super user"),
        (PLAIN, (), "DefaultDeny", "allow.everyone.if.no.acl.found is false"),
        (OPEN, (), "DefaultAllow", "allow.everyone.if.no.acl.found is true"),
        (OPEN, (allow("b", READ, topic("orders")),), "DefaultDeny", "no ACL that covers"),
        (PLAIN, (allow("a", READ, topic("orders")),), "MatchingAcl", "this ACL allows it"),
        (PLAIN, (EVERYTHING,), "MatchingAcl", "an ALLOW of ALL includes READ"),
        (PLAIN, (EVERYTHING, deny("a", READ, topic("*"))), "MatchingAcl", "overrides every ALLOW"),
    ],
)
def test_each_decision_rule_has_a_reason(
    policy: Policy, world: tuple[AclBinding, ...], rule: str, text: str
) -> None:
    found = answer(*world, policy=policy)

    assert text in because(found.state, found.explanation.question, found.explanation.decision)
    assert any(line.startswith(f"rule: {rule}: ") for line in lines_of(found))


def test_side_effects_of_the_first_acl() -> None:
    """Where no ACL means everybody, the first one closes the resource, the last one opens it."""
    [closes] = side_effects(answer(policy=OPEN))
    assert closes.startswith("topic orders has no ACL yet")
    [opens] = side_effects(answer(deny("a", READ, topic("orders")), policy=OPEN))
    assert opens.startswith("topic orders has no other ACL")
    assert side_effects(answer()) == []


def test_control_characters_are_escaped() -> None:
    question = Question("User:\x1b[2J", "10.0.0.1", READ, ResourceType.TOPIC, "a\nb")

    assert sentence(answer(question=question).explanation) == (
        "User:\\x1b[2J may not READ topic a\\nb from 10.0.0.1"
    )


def test_near_misses_are_listed() -> None:
    policy = Policy(super_users=frozenset({"User:A"}))
    world = (allow("user:a", READ, topic("orders")), allow("user:a", READ, topic("x")))

    found = answer(*world, policy=policy)

    lines = lines_of(found)
    at = lines.index("near misses (similar names, but different principals for Kafka):")
    assert lines[at + 1 : at + 3] == [
        "  'User:A' differs in upper and lower case (a super user)",
        "  'user:a' differs in upper and lower case (2 ACLs)",
    ]
    assert [each["acls"] for each in record_of(found)["nearMisses"]] == [0, 2]
