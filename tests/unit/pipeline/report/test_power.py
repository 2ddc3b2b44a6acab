"""What principals may use, and do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from doorkeeper_pipeline.report.model import About, Share
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


def test_the_most_unused_names_come_first() -> None:
    """Names that several grants cover count once; a DENY gives nothing."""
    grants = [
        grant("User:wide", "*", used=True),
        grant("User:wide", "a", pattern_type="PREFIXED"),
        grant("User:one", "a1", used=True),
        grant("User:no", "*", permission_type="DENY"),
    ]
    decisions = [decision("User:wide", "a1"), decision("User:one", "a1"), decision("User:x", "b")]

    rows = tables(grants, decisions)["excess"].rows

    assert rows == (
        ("User:wide", Share(1, 2), Share(1, 2), 1),
        ("User:one", Share(1, 1), Share(1, 1), 0),
    )
