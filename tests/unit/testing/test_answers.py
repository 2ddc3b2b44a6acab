"""Questions as tests ask them, and answers that say why."""

from __future__ import annotations

import re
from typing import Any

import pytest

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.explanation import explanation
from doorkeeper.acls.model import AclBinding, AclOperation, ResourceType
from doorkeeper.acls.snapshot import EMPTY
from doorkeeper.testing.acl_options import bindings_of
from doorkeeper.testing.answers import Answer, operation_of, question_of

READS = Question("User:a", "127.0.0.1", AclOperation.READ, ResourceType.TOPIC, "t")


def binding(**fields: str) -> AclBinding:
    words = {"resourceType": "TOPIC", "name": "t", "principal": "User:a", "operation": "READ"}
    (made,) = bindings_of([{**words, **fields}])
    return made


def answer(*bindings: AclBinding, expected: bool = True, **policy: Any) -> Answer:
    snapshot = EMPTY.with_changes(("", each) for each in bindings)
    explained = explanation(Policy(**policy), snapshot, READS)
    return Answer(
        READS, allowed=explained.decision.allowed, expected=expected, explanation=explained
    )


def test_answer_is_truthy_if_expected() -> None:
    assert answer(binding())
    assert not answer()
    assert answer(expected=False)
    assert not answer(binding(), expected=False)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (answer(), "denied READ on TOPIC 't' from 127.0.0.1 because no ACL covers the resource"),
        (answer(binding()), "because of ALLOW User:a READ on LITERAL TOPIC 't' from *"),
        (answer(super_users=frozenset({"User:a"})), "allowed READ .* because it is a super user"),
        (answer(allow_everyone=True), "because no ACL covers the resource, and allow.everyone"),
        (answer(binding(principal="User:b")), "no ACL allows it: .* is for another principal"),
    ],
)
def test_answer_explains_itself(given: Answer, text: str) -> None:
    assert re.search(text, repr(given)), repr(given)


def test_operation_spellings() -> None:
    """Words of Kafka's tools, of the protocol and members are the same."""
    wanted = AclOperation.DESCRIBE_CONFIGS

    assert {operation_of(x) for x in ("DescribeConfigs", "describe_configs", wanted)} == {wanted}
    with pytest.raises(ValueError, match="operation: found 'ALL'; allowed: READ, WRITE"):
        operation_of("ALL")


@pytest.mark.parametrize("resource", [{}, {"topic": "t", "group": "g"}, {"tpoic": "t"}])
def test_question_has_one_resource(resource: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="allowed: exactly one of topic, group"):
        question_of("User:a", "READ", resource)  # type: ignore[arg-type]


def test_hosts_are_formatted_as_in_java() -> None:
    asked = question_of("User:a", "READ", {"topic": "t", "host": "::1"})

    assert asked.host == "0:0:0:0:0:0:0:1"
    assert question_of("User:a", "READ", {"topic": "t", "host": "*"}).host == "*"
    for wrong in ("garbage", "10.0.0.01", "10.0.0,7"):
        with pytest.raises(ValueError, match=f"host: found '{wrong}'; allowed: an address"):
            question_of("User:a", "READ", {"topic": "t", "host": wrong})
