"""The engine against the reference, on small random worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acls.bulk import load
from doorkeeper.acls.decision import Policy, Question, allows, explain
from testkit import acl_worlds as some
from testkit import reference

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding


@settings(max_examples=600, deadline=None)
@given(some.policies, some.worlds, st.lists(some.questions, min_size=1, max_size=6))
def test_decision_and_explanation_match_the_reference(
    policy: Policy, world: list[AclBinding], questions: list[Question]
) -> None:
    snapshot = load(some.numbered(world))

    for question in questions:
        expected = reference.decide(policy, world, question)
        decision = explain(policy, snapshot, question)

        assert allows(policy, snapshot, question) == expected.allowed
        assert (decision.allowed, decision.rule.value, decision.binding) == expected
        if decision.binding is not None:
            assert decision.binding_id == f"{world.index(decision.binding):022}"
