"""Answers for all names that begin with a prefix."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.acl.cases import Space, Verdict, answer, cases
from doorkeeper.acl.decision import Policy, Question, allows, explain
from doorkeeper.acl.model import AclBinding, AclOperation, ResourceType
from doorkeeper.acl.regions import Extent
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, topic
from testkit.acl_worlds import loaded

PLAIN = Policy()
TEXTS = ("", "*", "**", "a", "aa", "ab", "aba", "abb", "b", "x", "ax", "abx")
WORLD = [
    make(who, operation, topic(name, how))
    for make in (allow, deny)
    for who in ("a", "b", "User:*")
    for operation in (READ, WRITE, AclOperation.ALL)
    for name in TEXTS
    for how in (PREFIXED, topic("").pattern_type)
]
# Every name of up to four characters of the patterns, and of others.
NAMES = ["".join(each) for length in range(1, 5) for each in product("*abxy", repeat=length)]


def ask(name: str) -> Question:
    return Question("User:a", "10.0.0.1", READ, ResourceType.TOPIC, name)


def about(prefix: str) -> Space:
    return Space("User:a", "10.0.0.1", READ, ResourceType.TOPIC, Extent(prefix))


@pytest.mark.parametrize(
    ("world", "verdict", "examples"),
    [
        ([], Verdict.NEVER, ["pii-x"]),
        ([allow("a", READ, topic("pii", PREFIXED))], Verdict.ALWAYS, ["pii-x"]),
        ([allow("a", READ, topic("pii-x"))], Verdict.SOMETIMES, ["pii-x", "pii-y"]),
        ([allow("a", READ, topic("*")), deny("a", READ, topic("pii-xx", PREFIXED))],
         Verdict.SOMETIMES, ["pii-y", "pii-xxx"]),
        ([allow("b", READ, topic("pii-x"))], Verdict.NEVER, ["pii-x"]),
    ],
)  # fmt: skip
def test_examples(world: list[AclBinding], verdict: Verdict, examples: list[str]) -> None:
    """Each decision has an example; allowed ones come first."""
    found = cases(PLAIN, loaded(*world), about("pii-"))

    assert answer(PLAIN, loaded(*world), about("pii-")).verdict is verdict
    assert [each.question.name for each in found] == examples


@given(
    st.lists(st.sampled_from(WORLD), max_size=8),
    st.sampled_from(TEXTS),
    st.booleans(),
    st.sampled_from((frozenset(), frozenset({"User:a"}))),
)
def test_every_name_agrees(
    world: list[AclBinding],
    prefix: str,
    everyone: bool,  # noqa: FBT001
    users: frozenset[str],
) -> None:
    """The verdict is that of all names; each decision of a name is one of the cases."""
    policy = Policy(super_users=users, allow_everyone=everyone)
    snapshot = loaded(*set(world))
    found = cases(policy, snapshot, about(prefix))
    names = [each for each in NAMES if each.startswith(prefix)]

    answers = {allows(policy, snapshot, ask(name)) for name in names}
    expected = {frozenset({True}): Verdict.ALWAYS, frozenset({False}): Verdict.NEVER}

    assert answer(policy, snapshot, about(prefix)).verdict is expected.get(
        frozenset(answers), Verdict.SOMETIMES
    )
    decisions = {each.decision for each in found}
    assert {explain(policy, snapshot, ask(name)) for name in names} <= decisions
    for question, decision in found:
        assert question.name.startswith(prefix)
        assert explain(policy, snapshot, question) == decision


def test_patterns_behind_every_character() -> None:
    """There is a fresh name still."""
    world = [allow("a", READ, topic(chr(code), PREFIXED)) for code in range(0x21, 0x7F)]

    assert answer(PLAIN, loaded(*world), about("")).verdict is Verdict.SOMETIMES
