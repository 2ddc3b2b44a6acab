"""The pipeline's evaluator, the server's engine and the naive reference agree in small worlds."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acls.decision import Policy, Question, explain
from doorkeeper.acls.model import AclBinding
from doorkeeper_pipeline.evaluation.index import compile_index, distinct
from doorkeeper_pipeline.evaluation.usage import parts_of, sum_uses
from testkit import reference
from testkit.acl_worlds import loaded, networked_worlds, policies, questions, worlds
from testkit.asked import answers_to, asked_table

many_questions = st.lists(questions, max_size=40, unique=True)


@settings(max_examples=150, deadline=None)
@given(world=worlds, policy=policies, asking=many_questions)
def test_decisions_agree(world: list[AclBinding], policy: Policy, asking: list[Question]) -> None:
    """Every question has the same answer, rule and binding in all three."""
    bindings = distinct(world)
    snapshot = loaded(*bindings)
    index = pickle.loads(pickle.dumps(compile_index(bindings, policy)))

    rows = answers_to(asking, index)

    for question, row in zip(asking, rows, strict=True):
        binding = None if row["binding"] is None else bindings[row["binding"]]
        found = (row["allowed"], row["rule"], binding)
        engine = explain(policy, snapshot, question)
        assert found == (engine.allowed, engine.rule.value, engine.binding)
        assert found == reference.decide(policy, bindings, question)


@pytest.mark.parametrize("networks", [True, False])
@settings(max_examples=50, deadline=None)
@given(world=networked_worlds, policy=policies, asking=many_questions)
def test_network_decisions_agree(
    world: list[AclBinding], policy: Policy, asking: list[Question], *, networks: bool
) -> None:
    """By the rules of 4.4 and of 4.3 the evaluator names the binding that the engine names."""
    bindings = distinct(world)
    snapshot = loaded(*bindings).with_network_matching(enabled=networks)
    index = pickle.loads(pickle.dumps(compile_index(bindings, policy, networks=networks)))

    rows = answers_to(asking, index)

    for question, row in zip(asking, rows, strict=True):
        binding = None if row["binding"] is None else bindings[row["binding"]]
        engine = explain(policy, snapshot, question)
        assert (row["allowed"], row["rule"], binding) == (
            engine.allowed,
            engine.rule.value,
            engine.binding,
        )


@settings(max_examples=100, deadline=None)
@given(world=worlds, policy=policies, asking=many_questions)
def test_used_and_decisive_by_brute_force(
    world: list[AclBinding], policy: Policy, asking: list[Question]
) -> None:
    """Used: it matches on the side that decided. Decisive: without it the decision is the other."""
    bindings = distinct(world)

    rows = sum_uses(parts_of(compile_index(bindings, policy), asked_table(asking))).to_dicts()

    found = {row["binding"]: (row["uses"], row["decisive_uses"]) for row in rows}
    answers = [reference.decide(policy, bindings, question) for question in asking]
    for number, binding in enumerate(bindings):
        rest = [each for each in bindings if each != binding]
        used = decisive = 0
        for question, answer in zip(asking, answers, strict=True):
            decisive += reference.decide(policy, rest, question).allowed != answer.allowed
            used += (
                answer.binding is not None
                and answer.binding.entry.permission_type is binding.entry.permission_type
                and reference.covers(binding, question)
                and reference.applies(binding, question)
            )
        assert found.get(number, (0, 0)) == (used, decisive), binding
