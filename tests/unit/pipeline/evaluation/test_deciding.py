"""Decisions of many questions at once, with the rule and the binding."""

from typing import Any

import pytest

from doorkeeper.acl.decision import Policy, Question
from doorkeeper.acl.model import AclBinding, AclOperation, ResourceType
from doorkeeper_pipeline.evaluation.deciding import add_decisions
from doorkeeper_pipeline.evaluation.index import compile_index
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, topic
from testkit.asked import asked

ALL = AclOperation.ALL
Answer = tuple[bool, str, int | None]


def ask(
    bindings: list[AclBinding],
    name: str = "orders",
    operation: AclOperation = READ,
    *,
    principal: str = "User:a",
    host: str = "10.0.0.1",
    policy: Policy | None = None,
) -> Answer:
    question = Question(principal, host, operation, ResourceType.TOPIC, name)
    [row] = add_decisions(
        compile_index(bindings, policy or Policy()), asked([question])
    ).to_pylist()
    return row["allowed"], row["rule"], row["binding"]


WITHIN, OTHERS = "10.0.0.0/8", "11.0.0.0/8"


@pytest.mark.parametrize(
    ("hosts", "networks", "answer"),
    [
        ([(allow, WITHIN)], True, (True, "MatchingAcl", 0)),
        ([(allow, WITHIN)], False, (False, "DefaultDeny", None)),
        ([(allow, OTHERS)], True, (False, "DefaultDeny", None)),
        ([(allow, "10.0.0.1"), (deny, WITHIN)], True, (False, "MatchingAcl", 1)),
        ([(allow, "*"), (allow, "10.0.0.0/24"), (allow, WITHIN)], True, (True, "MatchingAcl", 2)),
    ],
)
def test_networks(hosts: list[tuple[Any, str]], networks: bool, answer: Answer) -> None:  # noqa: FBT001  a parameter
    """A DENY wins whatever is longer; of several ALLOWs the last as a text is named."""
    bindings = [verb("a", READ, topic("orders"), host) for verb, host in hosts]
    question = Question("User:a", "10.0.0.1", READ, ResourceType.TOPIC, "orders")

    [row] = add_decisions(compile_index(bindings, networks=networks), asked([question])).to_pylist()

    assert (row["allowed"], row["rule"], row["binding"]) == answer


READ_ALL, DENY_ONE = allow("a", READ, topic("*")), deny("a", READ, topic("orders"))


def test_the_rule_that_the_broker_names() -> None:
    """Of several ALLOWs the last of the walk is named, of several DENYs the first."""
    names = ("orders", "ord", "o")
    allows = [allow("a", READ, topic(name, PREFIXED)) for name in names]
    denies = [deny("a", READ, topic(name, PREFIXED)) for name in names]

    assert ask(allows) == (True, "MatchingAcl", 2)
    assert ask(denies) == (False, "MatchingAcl", 0)
    assert ask([*allows, READ_ALL]) == (True, "MatchingAcl", 3)


def test_allow_everyone() -> None:
    """Where no ACL of anybody covers the resource, everybody may; otherwise nobody by default."""
    policy = Policy(allow_everyone=True)

    assert ask([], policy=policy) == (True, "DefaultAllow", None)
    others = [allow("b", WRITE, topic("ord", PREFIXED), "10.9.9.9")]
    assert ask(others, policy=policy) == (False, "DefaultDeny", None)
    assert ask(others, "bills", policy=policy) == (True, "DefaultAllow", None)
