"""What the report rests on."""

from __future__ import annotations

from datetime import UTC, datetime

from doorkeeper_pipeline.report.model import About
from doorkeeper_pipeline.report.overview import History
from doorkeeper_pipeline.report.quality import quality_of
from testkit.report_tables import BEGIN, table_of

ABOUT = About(made=datetime(2026, 11, 8, tzinfo=UTC), assumptions=("The log's zone is UTC.",))


def history(days: int, last: datetime = BEGIN) -> History:
    return History(9, 0, 0, 1, 1, days, BEGIN, last)


def test_what_could_not_be_read_is_counted() -> None:
    """The report says how much is missing from it."""
    frames = {
        "files": table_of("files", [{"lines": 1_000, "quarantined": 2}, {"lines": 7}]),
        "quarantine": table_of("quarantine", [{"reason": "torn"}, {"reason": "torn"}]),
    }

    section = quality_of(frames, history(1), ABOUT)

    assert " ".join(section.lead) == (
        "1,007 lines of 2 files were read; 2 of them could not be understood, and none of those"
        " counts above. All decisions are of 1 Nov 2026."
    )
    assert [table.total for table in section.tables] == [2, 2]


def test_contradictions_are_listed() -> None:
    """The share of agreement is in the text; the largest disagreement stands first."""
    rows = [
        {"principal": "User:a", "outcome": "ALLOWED", "count": 90, "agreeing": 90},
        {"principal": "User:b", "outcome": "ALLOWED", "count": 6, "agreeing": 5},
        {"principal": "User:c", "outcome": "DENIED", "count": 4, "agreeing": 0},
    ]

    section = quality_of({"agreement": table_of("agreement", rows)}, history(1), ABOUT)

    assert section.lead[-1] == ("95% of 100 recorded decisions follow from the given ACLs.")
    (table,) = section.tables
    assert [row[:2] for row in table.rows] == [(4, "User:c"), (1, "User:b")]
