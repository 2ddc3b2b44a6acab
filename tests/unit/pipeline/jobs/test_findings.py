"""What the summary of a run names."""

from typing import Any

from doorkeeper_pipeline.bindings import binding_of_row, text_of
from doorkeeper_pipeline.jobs.findings import SUMMARIZED, findings_of
from doorkeeper_pipeline.tables import contents
from testkit.report_tables import table_of

EMPTY = {name: contents.empty(name) for name in SUMMARIZED}


def test_nothing_to_say() -> None:
    """Empty tables have no findings."""
    assert findings_of(EMPTY) == ()


def test_refusals_are_grouped_by_their_cause() -> None:
    """One DENY explains most of them; a probe refuses nothing."""
    denied: list[dict[str, Any]] = [
        {"principal": "User:a", "count": 60, "reason": "DENY", "denied_by": "one"},
        {"principal": "User:b", "count": 21, "reason": "DENY", "denied_by": "one"},
        {"principal": "User:c", "count": 19, "reason": "NO_ACL"},
        {"principal": "User:d", "count": 99, "reason": "NO_ACL", "probe": True},
    ]

    found = findings_of({**EMPTY, "denied": table_of("denied", denied).collect()})

    assert found == (
        "refused: 100",
        "  81% by one DENY: one",
        "  19% because User:c has no ALLOW for it",
    )


def test_what_the_removal_of_a_deny_opens() -> None:
    """A DENY that alone decided keeps something shut; others stay refused for want of an ALLOW."""
    deny: dict[str, Any] = {
        "resource_type": "TOPIC",
        "resource_name": "t",
        "pattern_type": "LITERAL",
        "principal": "User:a",
        "host": "*",
        "operation": "READ",
        "permission_type": "DENY",
        "uses": 60,
        "decisive_uses": 50,
    }
    text = text_of(binding_of_row(deny))
    denied = [{"principal": "User:a", "count": 60, "reason": "DENY", "denied_by": text}]
    tables = {
        **EMPTY,
        "denied": table_of("denied", denied).collect(),
        "grant_usage": table_of("grant_usage", [deny]).collect(),
    }

    assert findings_of(tables) == (
        "refused: 60",
        f"  100% by one DENY: {text}",
        "    without it 50 decisions of this history would be allowed",
    )


def test_grants_are_named() -> None:
    """Principals with most unused ACLs and what those are; wide ACLs, least used first."""
    acl = {"operation": "READ", "resource_type": "TOPIC", "host": "*", "pattern_type": "PREFIXED"}
    unused: list[dict[str, Any]] = [
        {
            **acl,
            "principal": f"User:{name}",
            "resource_name": f"t{number}",
            "proposal": "REMOVE",
            "binding_id": f"{number}",
        }
        for number, name in enumerate("aaaabcdefghijkl")
    ]
    unused.append({"principal": "User:z", "proposal": "NOT_ENOUGH_EVIDENCE"})
    wide: list[dict[str, Any]] = [
        {
            "principal": "User:a",
            "operation": "ALL",
            "resource_type": "TOPIC",
            "resource_name": "*",
            "host": "10.0.0.1",
            "uses": 7,
            "excess": ["ALL_NAMES", "ALL_OPERATIONS"],
        },
        {"principal": "User:b", "excess": ["PREFIX"]},
    ]
    tables = {
        **EMPTY,
        "unused_grants": table_of("unused_grants", unused).collect(),
        "overbroad_grants": table_of("overbroad_grants", wide).collect(),
    }

    assert findings_of(tables) == (
        "can be removed: 15 ACLs",
        "  of User:a: READ on TOPIC t0*; READ on TOPIC t1*; READ on TOPIC t2*; and 1 more",
        *(f"  of User:{name}: READ on TOPIC t{at}*" for at, name in enumerate("bcdefghij", 4)),
        "  and 2 ACLs of 2 other principals",
        "for all names or principals: 1 ACL",
        "  User:a: ALL on TOPIC * from 10.0.0.1, used 7 times",
    )
