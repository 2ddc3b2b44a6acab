"""Grants that nobody needed, and grants that are too wide."""

from __future__ import annotations

from datetime import UTC, datetime

from doorkeeper_pipeline.report.grants import unused_section
from doorkeeper_pipeline.report.model import About, Commands
from testkit.report_tables import table_of

ABOUT = About(made=datetime(2026, 11, 8, tzinfo=UTC), rows_max=2)


def test_grants_are_divided_by_what_they_were_good_for() -> None:
    """Needed, used but never alone, never used: together all of them."""
    usage = table_of(
        "grant_usage",
        [{"used": True, "decisive": True}, {"used": True}, {"used": True}, *[{}] * 4],
    )
    unused = table_of("unused_grants", [{"reason": "COVERED", "proposal": "KEEP"}])

    section = unused_section({"grant_usage": usage, "unused_grants": unused}, ABOUT)

    assert section.whole is not None
    assert [part.size for part in section.whole.parts] == [1, 2, 4]
    assert section.lead[0].startswith("Of 7 grants in force, 1 (14%) made no difference")
    assert "0 of them are redundant together" in section.lead[0]


def test_what_can_go_comes_first_and_the_rest_is_counted() -> None:
    """Rows on the page are the first; the table knows how many there are and where."""
    rows = [
        {"principal": "User:a", "proposal": "KEEP", "reason": "COVERED"},
        {"principal": "User:c", "proposal": "REMOVE", "reason": "NEVER_MATCHED", "command": "x"},
        {"principal": "User:b", "proposal": "REMOVE", "reason": "NEVER_USED", "command": "y"},
    ]
    frames = {
        "unused_grants": table_of("unused_grants", rows),
        "grant_usage": table_of("grant_usage", [{}] * 3),
    }

    (table,) = unused_section(frames, ABOUT).tables

    assert [row[0] for row in table.rows] == ["User:b", "User:c"]
    assert (table.total, table.whole) == (3, "gold/unused_grants")
    assert table.rows[0][-1] == Commands("remove", ("y",))
    assert all(len(row) == len(table.columns) for row in table.rows)
