"""What was used, and what a decision hung on."""

import pytest

from doorkeeper.acl.decision import Policy, Question
from doorkeeper.acl.model import AclBinding, AclOperation, ResourceType
from doorkeeper_pipeline.evaluation.index import compile_index
from doorkeeper_pipeline.evaluation.matching import matches
from doorkeeper_pipeline.evaluation.questions import encode, texts_of
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, topic
from testkit.asked import asked

QUESTION = Question("User:a", "10.0.0.1", READ, ResourceType.TOPIC, "orders")
ONE, WIDE = allow("a", READ, topic("orders")), allow("a", READ, topic("ord", PREFIXED))
NOT, NEVER = deny("a", READ, topic("orders")), deny("*", AclOperation.ALL, topic("*"))
OTHER = allow("b", WRITE, topic("orders"))


def found(bindings: list[AclBinding], policy: Policy) -> dict[int, str]:
    """Return by binding: u where it was used, d where it was decisive."""
    index = compile_index(bindings, policy)
    pairs = matches(index, encode(index, texts_of(asked([QUESTION]))))
    assert pairs.questions.tolist() == [0] * len(pairs.bindings)
    return {
        binding: "u" * used + "d" * decisive
        for binding, used, decisive in zip(
            pairs.bindings.tolist(), pairs.used.tolist(), pairs.decisive.tolist(), strict=True
        )
    }


@pytest.mark.parametrize(
    ("bindings", "expected"),
    [
        ([], {}),
        ([ONE], {0: "ud"}),
        ([ONE, WIDE], {0: "u", 1: "u"}),
        ([ONE, NOT], {0: "", 1: "ud"}),
        ([NOT], {0: "u"}),
        ([ONE, NOT, NEVER], {0: "", 1: "u", 2: "u"}),
        ([OTHER], {}),
    ],
)
def test_default_deny(bindings: list[AclBinding], expected: dict[int, str]) -> None:
    """Each matching binding of the deciding side is used; one that is alone decides."""
    assert found(bindings, Policy()) == expected


@pytest.mark.parametrize(
    ("bindings", "expected"),
    [
        ([ONE], {0: "u"}),
        ([ONE, OTHER], {0: "ud"}),
        ([NOT], {0: "ud"}),
        ([NOT, OTHER], {0: "u"}),
        ([OTHER], {0: "d"}),
        ([OTHER, deny("b", WRITE, topic("o", PREFIXED))], {}),
    ],
)
def test_allow_everyone(bindings: list[AclBinding], expected: dict[int, str]) -> None:
    """A binding that alone covers a resource closes it by being there, and opens it by going."""
    assert found(bindings, Policy(allow_everyone=True)) == expected
