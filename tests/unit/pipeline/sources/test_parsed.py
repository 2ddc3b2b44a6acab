"""What sources give."""

from __future__ import annotations

from doorkeeper_pipeline.sources.json_lines import Decided, _frame
from doorkeeper_pipeline.sources.parsed import (
    sum_decisions,
)

ROW = Decided(
    "User:a", "h", "READ", "TOPIC", "t", "DENIED", "", "", "", False, 2, 60_000_000, 61_000_000
)


def test_equal_decisions_of_a_minute_are_summed() -> None:
    """Equal decisions are one row; another minute is another row."""
    rows = [ROW, ROW._replace(first_us=59_000_000), ROW._replace(last_us=70_000_000)]
    found = sum_decisions(_frame(rows, "trail")).sort("minute")

    assert found["count"].to_list() == [2, 4]
    assert found["lines"].to_list() == [1, 2]
