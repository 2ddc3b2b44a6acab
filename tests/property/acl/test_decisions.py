"""The engine against the reference, on small random worlds."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acl.bulk import load
from doorkeeper.acl.decision import Policy, Question, allows, explain
from doorkeeper.acl.model import AccessControlEntry, AclBinding, PatternType, ResourcePattern
from testkit import acl_worlds as some
from testkit import reference


@settings(max_examples=600, deadline=None)
@given(some.policies, some.worlds, st.lists(some.questions, min_size=1, max_size=6))
def test_decides_and_explains_as_the_reference(
    policy: Policy, world: list[AclBinding], questions: list[Question]
) -> None:
    """The masks decide, and the walk explains, as a walk over the list of all ACLs does."""
    snapshot = load(some.numbered(world))

    for question in questions:
        expected = reference.decide(policy, world, question)
        decision = explain(policy, snapshot, question)

        assert allows(policy, snapshot, question) == expected.allowed
        assert (decision.allowed, decision.rule.value, decision.binding) == expected
        if decision.binding is not None:
            assert decision.binding_id == f"{world.index(decision.binding):022}"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_million_decisions() -> None:
    """The same over a million questions in larger worlds than hypothesis makes."""
    chance = random.Random(20)
    names = (*some.NAMES, "abcd", "abc-d", "zz")

    def binding() -> AclBinding:
        return AclBinding(
            ResourcePattern(
                chance.choice(some.TYPES),
                chance.choice(names),
                chance.choice((PatternType.LITERAL, PatternType.PREFIXED)),
            ),
            AccessControlEntry(
                chance.choice(some.PRINCIPALS),
                chance.choice(some.HOSTS),
                chance.choice(some.OPERATIONS),
                chance.choice(some.PERMISSIONS),
            ),
        )

    for _ in range(20_000):
        world = [binding() for _ in range(chance.randrange(25))]
        policy = Policy(allow_everyone=chance.random() < 0.5)
        snapshot = load(some.numbered(world))
        for _ in range(50):
            question = Question(
                chance.choice(some.PRINCIPALS),
                chance.choice(some.HOSTS[1:]),
                chance.choice(some.OPERATIONS),
                chance.choice(some.TYPES),
                chance.choice(names),
            )
            expected = reference.decide(policy, world, question)

            assert allows(policy, snapshot, question) == expected.allowed
            assert explain(policy, snapshot, question)[:3] == (
                expected.allowed,
                explain(policy, snapshot, question).rule,
                expected.binding,
            )
