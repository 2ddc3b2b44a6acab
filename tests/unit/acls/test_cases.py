"""Answers for all names that begin with a prefix.

tests/property/acl/test_solved_answers.py compares them with a solver.
"""

from __future__ import annotations

import pytest

from doorkeeper.acls.cases import Space, Verdict, answer, cases
from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import AclBinding, ResourceType
from doorkeeper.acls.regions import Extent
from testkit.acl import PREFIXED, READ, allow, deny, topic
from testkit.acl_worlds import loaded

PLAIN = Policy()


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
def test_each_decision_has_an_example(
    world: list[AclBinding], verdict: Verdict, examples: list[str]
) -> None:
    found = cases(PLAIN, loaded(*world), about("pii-"))

    assert answer(PLAIN, loaded(*world), about("pii-")).verdict is verdict
    assert [each.question.name for each in found] == examples


def test_example_name_exists_when_all_characters_have_patterns() -> None:
    world = [allow("a", READ, topic(chr(code), PREFIXED)) for code in range(0x21, 0x7F)]

    assert answer(PLAIN, loaded(*world), about("")).verdict is Verdict.SOMETIMES
