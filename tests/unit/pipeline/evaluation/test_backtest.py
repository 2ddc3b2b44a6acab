"""What another set of ACLs would turn."""

import polars as pl

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.model import ResourceType
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.evaluation.index import compile_index
from doorkeeper_pipeline.jobs.backtest import CHANGED, changed_decisions, turned_from_record
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, topic
from testkit.asked import asked, asked_table

TOPIC = ResourceType.TOPIC
QUESTIONS = [
    Question("User:a", "10.0.0.1", READ, TOPIC, "orders"),
    Question("User:a", "10.0.0.1", WRITE, TOPIC, "orders"),
    Question("User:b", "10.0.0.1", READ, TOPIC, "orders"),
]
BEFORE = [allow("a", READ, topic("ord", PREFIXED)), deny("b", READ, topic("orders"))]
AFTER = [allow("c", READ, topic("x")), allow("a", WRITE, topic("orders"))]


def test_backtest_reports_gains_and_losses() -> None:
    table = changed_decisions(
        compile_index(BEFORE), compile_index(AFTER), asked_table(QUESTIONS, [5, 7, 9])
    )

    loses, gains = table.to_dicts()
    assert table.schema == pl.Schema(CHANGED)
    assert {name: loses[name] for name in ("principal", "operation", "turn", "count")} == {
        "principal": "User:a",
        "operation": "READ",
        "turn": "ALLOW_TO_DENY",
        "count": 5,
    }
    assert (loses["rule_before"], loses["binding_before"]) == ("MatchingAcl", 0)
    assert (loses["rule_after"], loses["binding_after"]) == ("DefaultDeny", None)
    assert (gains["turn"], gains["operation"]) == ("DENY_TO_ALLOW", "WRITE")
    assert (gains["rule_after"], gains["binding_after"]) == ("MatchingAcl", 1)


def test_policies_change_decisions() -> None:
    policy = Policy(super_users=frozenset({"User:b"}))

    table = changed_decisions(
        compile_index(BEFORE, policy), compile_index(BEFORE), asked_table(QUESTIONS)
    )

    [row] = table.to_dicts()
    assert (row["principal"], row["rule_before"], row["binding_after"]) == (
        "User:b",
        "SuperUser",
        1,
    )


def test_backtest_against_recorded_decisions() -> None:
    table = asked(QUESTIONS).with_columns(
        outcome=pl.Series(["ALLOWED", "ALLOWED", "DENIED"]),
        rule=pl.Series(["MatchingAcl", "", "DefaultDeny"]),
    )

    found = turned_from_record(
        compile_index([allow("*", WRITE, topic("orders"))]), DecisionTable(table)
    )

    [row] = found.to_dicts()
    assert found.schema == pl.Schema(CHANGED)
    assert (row["operation"], row["turn"], row["principal"]) == ("READ", "ALLOW_TO_DENY", "User:a")
    assert (row["rule_before"], row["binding_before"]) == ("MatchingAcl", None)
    assert (row["rule_after"], row["binding_after"]) == ("DefaultDeny", None)
