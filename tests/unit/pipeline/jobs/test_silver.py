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
    out = str(tmp_path / "out")

    part, sums = build_hour(None, HourTask(hour="1970-01-01T01", parts=parts, out=out)).parts

    assert part.rows == 2
    assert part.path.startswith("1970-01-01/01-")
    assert part.days == ("1970-01-01", "1970-01-01")
    written = pl.read_parquet(tmp_path / "out" / "silver" / "decisions" / part.path)
    assert written.select("resource_name", "count").rows() == [("t", 2), ("late", 1)]
    assert (sums.rows, sums.path.partition("-")[0]) == (2, "hours/1970")
    assert build_hour(None, HourTask(hour="1970-01-01T05", parts=parts, out=out)).parts == ()
    assert build_hour(None, HourTask(hour="1970-01-01T05", parts=(), out=out)).parts == ()
