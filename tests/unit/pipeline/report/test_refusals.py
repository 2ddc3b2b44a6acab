"""Who was refused what."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from doorkeeper_pipeline.bindings import binding_of_row, text_of
from doorkeeper_pipeline.report.model import About, Commands, Names, Share
from doorkeeper_pipeline.report.overview import History
from doorkeeper_pipeline.report.refusals import refusals_of
from testkit.report_tables import BEGIN, table_of

ABOUT = About(made=datetime(2026, 11, 8, tzinfo=UTC))
HISTORY = History(1_000, 60, 0, 3, 3, 1, BEGIN, BEGIN)


def test_refusals_by_their_cause() -> None:
    """One DENY is one row, and says how many of its refusals would be allowed without it."""
    deny: dict[str, Any] = {
        "resource_type": "TOPIC",
        "resource_name": "t",
        "pattern_type": "LITERAL",
        "principal": "User:*",
        "host": "*",
        "operation": "READ",
        "permission_type": "DENY",
        "decisive_uses": 7,
    }
    text = text_of(binding_of_row(deny))
    denied = [
        {"principal": "User:a", "count": 10, "reason": "NO_ACL", "resource_name": "x"},
        {"principal": "User:a", "count": 5, "reason": "NO_ACL", "resource_name": "y"},
        {"principal": "User:b", "count": 50, "reason": "DENY", "denied_by": text},
        {"principal": "User:a", "count": 30, "reason": "DENY", "denied_by": text},
    ]
    frames = {
        "denied": table_of("denied", denied),
        "grant_usage": table_of("grant_usage", [deny]),
    }

    rows = refusals_of(frames, HISTORY, ABOUT).tables[0].rows

    assert [(row[0], row[2], row[3], row[4], row[5]) for row in rows] == [
        (Share(80, 95), Commands("the DENY", (), text), Names(("User:a", "User:b"), 2), 1, 7),
        (Share(15, 95), None, Names(("User:a",), 1), 2, None),
    ]
