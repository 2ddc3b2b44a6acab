"""Decisions of many questions at once, with the rule and the binding."""

from typing import Any

import pytest

from doorkeeper.acl.decision import Policy, Question
from doorkeeper.acl.model import AclBinding, AclOperation, ResourceType
from doorkeeper_pipeline.evaluation.deciding import add_decisions
from doorkeeper_pipeline.evaluation.index import compile_index
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, deny, topic
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


@pytest.mark.parametrize(
    ("bindings", "name", "operation", "answer"),
    [
        ([], "orders", READ, (False, "DefaultDeny", None)),
        ([allow("a", READ, topic("orders"))], "orders", READ, (True, "MatchingAcl", 0)),
        ([allow("a", READ, topic("orders"))], "orders2", READ, (False, "DefaultDeny", None)),
        ([allow("a", READ, topic("ord", PREFIXED))], "orders", READ, (True, "MatchingAcl", 0)),
        ([allow("a", READ, topic("orders"))], "orders", DESCRIBE, (True, "MatchingAcl", 0)),
        ([allow("a", READ, topic("orders"))], "orders", WRITE, (False, "DefaultDeny", None)),
        ([READ_ALL, DENY_ONE], "orders", READ, (False, "MatchingAcl", 1)),
        ([READ_ALL, DENY_ONE], "orders", DESCRIBE, (True, "MatchingAcl", 0)),
        ([READ_ALL, DENY_ONE], "bills", READ, (True, "MatchingAcl", 0)),
        ([READ_ALL], "*orders", READ, (False, "DefaultDeny", None)),
        ([allow("*", READ, topic("orders"))], "orders", READ, (True, "MatchingAcl", 0)),
        ([allow("b", READ, topic("orders"))], "orders", READ, (False, "DefaultDeny", None)),
        ([allow("a", READ, topic("orders"), "10.0.0.1")], "orders", READ, (True, "MatchingAcl", 0)),
        (
            [allow("a", READ, topic("orders"), "10.0.0.2")],
            "orders",
            READ,
            (False, "DefaultDeny", None),
        ),
        (
            [deny("*", ALL, topic("o", PREFIXED), "10.0.0.1"), READ_ALL],
            "orders",
            READ,
            (False, "MatchingAcl", 0),
        ),
    ],
)
def test_rules(
    bindings: list[AclBinding], name: str, operation: AclOperation, answer: Answer
) -> None:
    """Each rule of the broker, one by one."""
    assert ask(bindings, name, operation) == answer


def test_the_rule_that_the_broker_names() -> None:
    """Of several ALLOWs the last of the walk is named, of several DENYs the first."""
    names = ("orders", "ord", "o")
    allows = [allow("a", READ, topic(name, PREFIXED)) for name in names]
    denies = [deny("a", READ, topic(name, PREFIXED)) for name in names]

    assert ask(allows) == (True, "MatchingAcl", 2)
    assert ask(denies) == (False, "MatchingAcl", 0)
    assert ask([*allows, READ_ALL]) == (True, "MatchingAcl", 3)


def test_super_users() -> None:
    """A super user is let in before any ACL is looked at; User:* there is a name like others."""
    policy = Policy(super_users=frozenset({"User:a", "User:*"}))

    assert ask([DENY_ONE], policy=policy) == (True, "SuperUser", None)
    assert ask([], principal="User:b", policy=policy) == (False, "DefaultDeny", None)


def test_allow_everyone() -> None:
    """Where no ACL of anybody covers the resource, everybody may; otherwise nobody by default."""
    policy = Policy(allow_everyone=True)

    assert ask([], policy=policy) == (True, "DefaultAllow", None)
    others = [allow("b", WRITE, topic("ord", PREFIXED), "10.9.9.9")]
    assert ask(others, policy=policy) == (False, "DefaultDeny", None)
    assert ask(others, "bills", policy=policy) == (True, "DefaultAllow", None)


def test_whoever_asks_as_everybody() -> None:
    """User:* and the host * ask like anybody else, and are not counted twice."""
    bindings = [allow("*", READ, topic("orders"))]

    assert ask(bindings, principal="User:*", host="*") == (True, "MatchingAcl", 0)
