"""What is far wider than its use, and what would do instead."""

from typing import Any

import polars as pl

from doorkeeper.acls.decision import Question
from doorkeeper.acls.model import AclBinding, AclOperation, ResourceType
from doorkeeper_pipeline.evaluation.index import compile_index
from doorkeeper_pipeline.evaluation.literals import bindings_of
from doorkeeper_pipeline.evaluation.overbroad import (
    History,
    overbroad,
    touches_of,
    wide,
)
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, group, topic
from testkit.asked import asked_table

TOPIC = ResourceType.TOPIC
ALL = AclOperation.ALL
QUESTIONS = [
    Question("User:a", "10.0.0.1", READ, TOPIC, "orders"),
    Question("User:b", "10.0.0.2", READ, TOPIC, "orders"),
]


def judged(
    bindings: list[AclBinding],
    questions: list[Question] = QUESTIONS,
    *,
    names: tuple[str, ...] = ("bills", "ordered", "orders"),
    principals: int = 3,
) -> list[dict[str, Any]]:
    """Return the rows of the bindings that are too wide, and what would do instead."""
    table = asked_table(questions, [5] * len(questions))
    touches = touches_of(compile_index(bindings), wide(bindings), table)
    found = overbroad(bindings, touches, History({TOPIC: sorted(names)}, principals))
    return [
        {**row, "instead": bindings_of(found.instead.filter(pl.col("binding") == row["binding"]))}
        for row in found.grants.to_dicts()
    ]


def excess(*bindings: AclBinding) -> list[tuple[str, ...]]:
    return [tuple(each["excess"]) for each in judged(list(bindings))]


def test_each_kind_of_overbroad_grant() -> None:
    assert excess(allow("a", READ, topic("*"))) == [("ALL_NAMES", "ALL_HOSTS")]
    assert excess(allow("a", READ, topic("ord", PREFIXED))) == [("PREFIX", "ALL_HOSTS")]
    assert excess(allow("*", READ, topic("orders"))) == [("ALL_PRINCIPALS",)]
    assert excess(allow("a", ALL, topic("orders"))) == [("ALL_HOSTS", "ALL_OPERATIONS")]


def test_fully_used_grants_are_not_overbroad() -> None:
    assert excess(allow("a", READ, topic("orders"))) == []
    assert excess(allow("a", READ, topic("orders", PREFIXED))) == []
    assert excess(deny("a", READ, topic("*"))) == []
    assert excess(allow("a", ALL, group("g"))) == []


def test_overbroad_grant_has_evidence_and_alternative() -> None:
    everyones = allow("*", READ, topic("*"))

    [found] = judged([everyones])

    assert found["uses"] == 10
    assert found["covered_resource_count"] == 3
    assert found["touched_principals"] == ["User:a", "User:b"]
    assert found["touched_hosts"] == ["10.0.0.1", "10.0.0.2"]
    assert found["touched_operations"] == ["READ"]
    assert found["touched_resources"] == ["orders"]
    both = [allow("a", READ, topic("orders")), allow("b", READ, topic("orders"))]
    assert found["instead"] == both


def test_alternative_keeps_the_host() -> None:
    [found] = judged([allow("a", ALL, topic("orders"), "10.0.0.1")])

    assert found["instead"] == [allow("a", READ, topic("orders"), "10.0.0.1")]


def test_ungrantable_names_have_no_alternative() -> None:
    asking = [Question("User:a", "10.0.0.1", READ, TOPIC, "*"), QUESTIONS[0]]

    [found] = judged([allow("a", READ, topic("*"))], asking, names=("*", "orders", "x"))

    assert found["instead"] == []


def test_covered_names() -> None:
    """The wildcard covers no names that begin with an asterisk and go on; a literal covers one."""
    history = History({TOPIC: ["", "*", "*a", "a", "ab", "b"]}, 1)

    assert history.covered_count(allow("a", WRITE, topic("*"))) == 5
    assert history.covered_count(allow("a", WRITE, topic("a", PREFIXED))) == 2
    assert history.covered_count(allow("a", WRITE, topic("a"))) == 1
    assert history.covered_count(allow("a", WRITE, topic("c"))) == 0
    assert history.covered_count(allow("a", WRITE, group("a"))) == 0
