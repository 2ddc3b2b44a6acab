"""Distinct decisions."""

from __future__ import annotations

from doorkeeper_pipeline.engines.tuples import distinct
from doorkeeper_pipeline.sources.json_lines import Decided, _frame

ROW = Decided(
    "User:a", "h", "READ", "TOPIC", "t", "DENIED", "A", "", "", False, 2, 60_000_000, 61_000_000
)


def test_counts_and_times_are_merged() -> None:
    """Decisions that agree in the columns asked for are one row, from the first to the last."""
    frame = _frame([ROW, ROW._replace(api="B", first_us=1, last_us=120_000_000)], "trail").lazy()

    merged = distinct(frame, ["principal"]).collect()
    apart = distinct(frame).collect()

    assert merged["count"].to_list() == [4]
    assert merged["first_ts"].dt.timestamp("us").to_list() == [1]
    assert merged["last_ts"].dt.timestamp("us").to_list() == [120_000_000]
    assert len(apart) == 2
