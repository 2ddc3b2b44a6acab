"""Least privilege, and what a proposed set would turn."""

from __future__ import annotations

from datetime import UTC, datetime

from doorkeeper_pipeline.report.model import About, Commands
from doorkeeper_pipeline.report.proposals import (
    least_privilege_of,
)
from testkit.report_tables import table_of

ABOUT = About(made=datetime(2026, 11, 8, tzinfo=UTC))


def test_what_a_principals_set_turns_is_counted_once() -> None:
    """The numbers are a principal's, and stand in each of its rows."""
    rows = [
        {"principal": "User:a", "newly_allows": 3, "newly_forbids": 1, "kind": "LITERAL"},
        {"principal": "User:a", "newly_allows": 3, "newly_forbids": 1, "kind": "PREFIX"},
        {"principal": "User:b", "newly_allows": 4, "kind": "LITERAL", "command": "add"},
    ]

    section = least_privilege_of({"least_privilege": table_of("least_privilege", rows)}, ABOUT)

    assert " ".join(section.lead) == (
        "3 grants for 2 principals would allow all that was used. Over the whole history they"
        " would change 1 from allowed to denied and 7 from denied to allowed."
    )
    assert section.tables[0].rows[2][-1] == Commands("add", ("add",))
    assert [row[6] is None for row in section.tables[0].rows] == [True, False, True]
