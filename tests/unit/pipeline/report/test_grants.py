"""Grants that nobody needed, and grants that are too wide."""

from __future__ import annotations

from datetime import UTC, datetime

from doorkeeper_pipeline.report.grants import NO_ACLS, overbroad_of, unused_section
from doorkeeper_pipeline.report.model import About, Commands, Resource, Share
from testkit.report_tables import table_of

ABOUT = About(made=datetime(2026, 11, 8, tzinfo=UTC), rows_max=2)


def test_without_acls_nothing_is_known_about_grants() -> None:
    """The section says why it is empty, and what to do."""
    assert unused_section({}, ABOUT).missing == NO_ACLS
    assert overbroad_of({}, ABOUT).missing == NO_ACLS


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


def test_wide_grants_stand_beside_what_was_done() -> None:
    """The widest first, with what would do instead."""
    frames = {
        "overbroad_grants": table_of(
            "overbroad_grants",
            [
                {"principal": "User:a", "excess": ["PREFIX"], "uses": 100},
                {
                    "principal": "User:*",
                    "resource_type": "TOPIC",
                    "resource_name": "*",
                    "pattern_type": "LITERAL",
                    "excess": ["ALL_NAMES", "ALL_PRINCIPALS"],
                    "uses": 5,
                    "touched_resource_count": 2,
                    "covered_resource_count": 50,
                    "proposal": ["one", "two"],
                    "commands": ["add", "add", "remove"],
                },
            ],
        )
    }

    section = overbroad_of(frames, ABOUT)
    (table,) = section.tables

    assert section.lead[1] == "1 of them is for everybody."
    assert table.rows[0][2] == Resource("TOPIC", "*", "LITERAL")
    assert table.rows[0][6] == Share(2, 50)
    assert table.rows[0][-1] == Commands("2 grants", ("add", "add", "remove"), "one; two")
    assert table.rows[1][-1] is None
