"""An hour of decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.jobs.silver import HourTask, build_hour
from doorkeeper_pipeline.sources.json_lines import Decided, _frame

if TYPE_CHECKING:
    from pathlib import Path

HOUR_US = 3_600_000_000


def decided(at_us: int, name: str = "t") -> Decided:
    """Return a decision."""
    return Decided(
        "User:a", "h", "READ", "TOPIC", name, "DENIED", "", "", "", False, 1, at_us, at_us
    )


def test_rows_of_all_files_in_the_hour(tmp_path: Path) -> None:
    """Equal decisions of a minute are summed over files; other hours are left out."""
    for name, rows in (
        ("a", [decided(HOUR_US), decided(HOUR_US * 2)]),
        ("b", [decided(HOUR_US + 1), decided(HOUR_US * 2 - 1, "late")]),
    ):
        _frame(rows, "trail").with_columns(file_id=pl.lit(name)).write_parquet(tmp_path / name)
    parts = (str(tmp_path / "a"), str(tmp_path / "b"))
    target = tmp_path / "deep" / "hour"

    found = build_hour(None, HourTask(hour="1970-01-01T01", parts=parts, target=str(target)))

    assert found.rows == 2
    found_rows = pl.read_parquet(target).select("resource_name", "count").rows()
    assert found_rows == [("t", 2), ("late", 1)]
    empty = HourTask(hour="1970-01-01T05", parts=parts, target=str(tmp_path / "none"))
    assert build_hour(None, empty).rows == 0
    assert build_hour(None, HourTask(hour="1970-01-01T05", parts=(), target="")).rows == 0
    assert not (tmp_path / "none").exists()
