"""What a grant opens, by one table of rules."""

from __future__ import annotations

import polars as pl
import pytest

from doorkeeper_pipeline.bindings import FIELDS
from doorkeeper_pipeline.evaluation.literals import bindings_of
from doorkeeper_pipeline.evaluation.severity import (
    MANY,
    ClusterContext,
    opening_of,
    rules_of,
)
from testkit.acl import READ, allow, topic

AROUND = ClusterContext(principals=MANY, sensitive=("pii.",))
ONE = "User:a"
ALL = "User:*"

CASES = {
    "deny": ("CLUSTER", "kafka-cluster", "LITERAL", ONE, "ALTER", "DENY"),
    "acls": ("CLUSTER", "kafka-cluster", "LITERAL", ONE, "ALL", "ALLOW"),
    "everything": ("TOPIC", "*", "LITERAL", ALL, "READ", "ALLOW"),
    "cluster": ("CLUSTER", "kafka-cluster", "LITERAL", ONE, "CLUSTER_ACTION", "ALLOW"),
    "identity": ("USER", "*", "LITERAL", ONE, "CREATE_TOKENS", "ALLOW"),
    "topics": ("TOPIC", "*", "LITERAL", ONE, "READ", "ALLOW"),
    "sensitive": ("TOPIC", "pii", "PREFIXED", ONE, "READ", "ALLOW"),
    "many": ("TOPIC", "t", "LITERAL", ALL, "WRITE", "ALLOW"),
    "everybody": ("GROUP", "g", "LITERAL", ALL, "READ", "ALLOW"),
    "names": ("TOPIC", "*", "LITERAL", ONE, "DESCRIBE", "ALLOW"),
    "prefix": ("TOPIC", "*", "PREFIXED", ONE, "READ", "ALLOW"),
    "control": ("TOPIC", "t", "LITERAL", ONE, "DELETE", "ALLOW"),
    "name": ("TOPIC", "pii", "LITERAL", ONE, "READ", "ALLOW"),
}
"""A grant for each rule, near the edge to its neighbours."""


def rule_of(case: tuple[str, ...], around: ClusterContext = AROUND) -> tuple[str, str, str]:
    """Return the rule that decides about a grant, the severity, and the words."""
    names = [each for each in FIELDS if each != "host"]
    row = {**dict(zip(names, case, strict=True)), "host": "*"}
    [binding] = bindings_of(pl.DataFrame([row]))
    rule = next(each.name for each in rules_of(binding, around) if each.holds)
    opening = opening_of(binding, around)
    return rule, opening.severity, opening.opens


def test_each_severity_rule_has_an_example() -> None:
    rules = dict.fromkeys(each.name for each in rules_of(allow("a", READ, topic("t")), AROUND))

    assert [rule_of(CASES[rule])[0] for rule in rules] == list(CASES)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("acls", ("CRITICAL", "may change ACLs and thereby grant everything")),
        ("sensitive", ("HIGH", "sensitive topics: pii.*")),
        ("many", ("HIGH", "for every principal, of which 10 are known")),
        ("prefix", ("MEDIUM", "every topic that begins with *")),
        ("name", ("LOW", "one topic")),
    ],
)
def test_severity_text_follows_the_rule(rule: str, expected: tuple[str, str]) -> None:
    assert rule_of(CASES[rule])[1:] == expected


def test_severity_depends_on_principals_and_sensitive_topics() -> None:
    around = ClusterContext(principals=MANY - 1)

    assert rule_of(CASES["many"], around)[:2] == ("everybody", "MEDIUM")
    assert rule_of(CASES["sensitive"], around)[:2] == ("prefix", "MEDIUM")
