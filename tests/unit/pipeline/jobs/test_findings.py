"""What the summary of a run names."""

from typing import Any

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


def test_grants_are_named() -> None:
    """Principals with most unused ACLs, and the ACLs for everything, least used first."""
    unused: list[dict[str, Any]] = [
        {"principal": f"User:{name}", "proposal": "REMOVE", "binding_id": f"{number}"}
        for number, name in enumerate("aabcde")
    ]
    unused.append({"principal": "User:z", "proposal": "NOT_ENOUGH_EVIDENCE"})
    wide: list[dict[str, Any]] = [
        {
            "principal": "User:a",
            "operation": "ALL",
            "resource_type": "TOPIC",
            "resource_name": "*",
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
        "can be removed: 6 ACLs",
        "  2 of User:a",
        "  1 of User:b",
        "  1 of User:c",
        "for all names or principals: 1 ACLs",
        "  User:a: ALL on TOPIC *, used 7 times",
    )
