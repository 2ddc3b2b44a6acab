"""What sources give."""

from __future__ import annotations

from doorkeeper_pipeline.sources.json_lines import Decided, _frame
from doorkeeper_pipeline.sources.parsed import (
    TEXT_MAX,
    Parsed,
    join_pieces,
    quarantine_frame,
    sum_decisions,
)

ROW = Decided(
    "User:a", "h", "READ", "TOPIC", "t", "DENIED", "", "", "", False, 2, 60_000_000, 61_000_000
)


def test_pieces_are_joined() -> None:
    """Counts of pieces are added, rows stand below each other."""
    piece = Parsed(
        decisions=_frame([ROW], "trail"),
        quarantine=quarantine_frame([(1, 2, "why", "x" * 1000)]),
        lines=3,
        ignored=1,
        missing=4,
    )

    found = join_pieces([piece, Parsed(), piece])

    assert (len(found.decisions), len(found.quarantine)) == (2, 2)
    assert (found.lines, found.ignored, found.missing) == (6, 2, 8)
    assert len(found.quarantine["text"][0]) == TEXT_MAX


def test_equal_decisions_of_a_minute_are_summed() -> None:
    """Equal decisions are one row; another minute is another row."""
    rows = [ROW, ROW._replace(first_us=59_000_000), ROW._replace(last_us=70_000_000)]
    found = sum_decisions(_frame(rows, "trail")).sort("minute")

    assert found["count"].to_list() == [2, 4]
    assert found["lines"].to_list() == [1, 2]
