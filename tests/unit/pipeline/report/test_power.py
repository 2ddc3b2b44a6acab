"""Principals and grants with much access."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from doorkeeper_pipeline.report.model import About
from doorkeeper_pipeline.report.power import power_of
from testkit.report_tables import table_of

if TYPE_CHECKING:
    from doorkeeper_pipeline.report.model import Table

ABOUT = About(made=datetime(2026, 11, 8, tzinfo=UTC))


def grant(principal: str, name: str, **changed: Any) -> dict[str, Any]:
    """Return a row of grant_usage."""
    return {
        "binding_id": f"{principal} {name} {changed}",
        "principal": principal,
        "resource_type": "TOPIC",
        "resource_name": name,
        "pattern_type": "LITERAL",
        "operation": "READ",
        "permission_type": "ALLOW",
        **changed,
    }


def decision(principal: str, name: str, **changed: Any) -> dict[str, Any]:
    """Return a row of decisions."""
    return {
        "principal": principal,
        "resource_type": "TOPIC",
        "resource_name": name,
        "outcome": "ALLOWED",
        "rule": "MatchingAcl",
        "count": 1,
        **changed,
    }


def tables(grants: list[dict[str, Any]], decisions: list[dict[str, Any]]) -> dict[str, Table]:
    """Return the tables of the section by their ids."""
    frames = {
        "grant_usage": table_of("grant_usage", grants),
        "decisions": table_of("decisions", decisions),
    }
    return {table.id: table for table in power_of(frames, ABOUT).tables}


def test_grants_that_open_most() -> None:
    """Those of severity CRITICAL come first, then HIGH; a DENY opens nothing."""
    grants = [
        grant("User:*", "*", severity="HIGH"),
        grant("User:x", "kafka-cluster", resource_type="CLUSTER", severity="CRITICAL"),
        grant("User:y", "y", severity="MEDIUM"),
        grant("User:no", "*", permission_type="DENY", severity="LOW"),
    ]

    rows = tables(grants, [decision("User:n", "n")])["broad-grants"].rows

    assert [row[1] for row in rows] == ["User:x", "User:*"]
