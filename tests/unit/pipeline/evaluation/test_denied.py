"""What was refused, why, and what would help."""

from typing import Any

import polars as pl

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.model import AclBinding, ResourceType
from doorkeeper_pipeline.bindings import text_of
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.evaluation.index import compile_index
from doorkeeper_pipeline.jobs.denied import denied_table, refusals_of
from testkit.acl import READ, allow, deny, topic
from testkit.acl_commands import command_of
from testkit.asked import asked

TOPIC = ResourceType.TOPIC
HERE, THERE = "10.0.0.1", "10.0.0.2"
FROM_HERE = Question("User:a", HERE, READ, TOPIC, "orders")
FROM_THERE = Question("User:a", THERE, READ, TOPIC, "orders")


def recorded(
    questions: list[Question],
    *,
    outcomes: str = "DENIED",
    rules: str = "DefaultDeny",
    texts: str = "",
    probes: tuple[bool, ...] = (),
    apis: tuple[str, ...] = (),
) -> Any:
    size = len(questions)
    return asked(questions, [5] * size).with_columns(
        outcome=pl.lit(outcomes),
        probe=pl.Series(probes or [False] * size, dtype=pl.Boolean),
        api=pl.Series(apis or ["Fetch"] * size, dtype=pl.String),
        rule=pl.lit(rules),
        rule_binding=pl.lit(texts),
    )


def rows(table: Any, bindings: list[AclBinding] | None = None) -> list[dict[str, Any]]:
    index = None if bindings is None else compile_index(bindings, Policy())
    found = denied_table(refusals_of(index, DecisionTable(table)), tuple(bindings or ()))
    return found.to_dicts()


def test_denials_are_grouped_over_addresses_and_requests() -> None:
    [row] = rows(recorded([FROM_HERE, FROM_THERE, FROM_HERE], apis=("Fetch", "Metadata", "")))

    assert (row["count"], row["hosts"], row["host_count"]) == (15, [HERE, THERE], 2)
    assert row["apis"] == ["Fetch", "Metadata"]
    assert (row["principal"], row["operation"], row["resource_name"]) == (
        "User:a",
        "READ",
        "orders",
    )


def test_minimal_grant_is_suggested() -> None:
    [row] = rows(recorded([FROM_HERE]), [])

    grant = allow("a", READ, topic("orders"))
    assert (row["reason"], row["denied_by"]) == ("NO_ACL", "")
    assert (row["grant_text"], row["command"]) == (text_of(grant), command_of(grant))


def test_denial_by_deny_has_no_grant() -> None:
    bindings = [allow("a", READ, topic("orders")), deny("a", READ, topic("orders"), THERE)]

    [row] = rows(recorded([FROM_HERE, FROM_THERE]), bindings)

    assert (row["reason"], row["denied_by"]) == ("DENY", text_of(bindings[1]))
    assert (row["grant_text"], row["command"]) == ("", "")


def test_access_granted_since() -> None:
    [row] = rows(recorded([FROM_HERE]), [allow("a", READ, topic("orders"))])

    assert (row["reason"], row["grant_text"], row["command"]) == ("ALLOWED_NOW", "", "")


def test_recorded_rule_is_used_without_acls() -> None:
    text = text_of(deny("a", READ, topic("*")))

    [by_rule] = rows(recorded([FROM_HERE], rules="MatchingAcl", texts=text))
    [by_default] = rows(recorded([FROM_HERE]))
    [unknown] = rows(recorded([FROM_HERE], rules=""))

    assert (by_rule["reason"], by_rule["denied_by"], by_rule["command"]) == ("DENY", text, "")
    assert by_default["reason"] == "NO_ACL"
    assert (unknown["reason"], unknown["grant_text"] != "") == ("UNKNOWN", True)


def test_ungrantable_name_has_no_grant() -> None:
    [row] = rows(recorded([FROM_HERE._replace(name="*")]), [])

    assert (row["reason"], row["grant_text"], row["command"]) == ("NO_ACL", "", "")
