"""A day of decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from doorkeeper_pipeline.jobs.silver import LINES_A_SPAN, build_day, tasks_of
from doorkeeper_pipeline.sources.json_lines import Decided, _frame

if TYPE_CHECKING:
    from pathlib import Path

DAY_US = 86_400_000_000


def decided(at_us: int, name: str = "t") -> Decided:
    """Return a decision."""
    return Decided(
        "User:a", "h", "READ", "TOPIC", name, "DENIED", "", "", "", False, 1, at_us, at_us
    )


def bronze(folder: Path, rows: dict[str, list[Decided]]) -> list[str]:
    """Write rows of files of the table lines; return their paths."""
    for name, decisions in rows.items():
        frame = _frame(decisions, "trail").with_columns(file_id=pl.lit(name))
        frame.write_parquet(folder / name)
    return [str(folder / name) for name in rows]


def test_rows_of_all_files_in_the_day(tmp_path: Path) -> None:
    """Equal decisions of a minute are summed over files; other days are left out."""
    parts = bronze(
        tmp_path,
        {
            "a": [decided(DAY_US), decided(DAY_US * 2)],
            "b": [decided(DAY_US + 1), decided(DAY_US * 2 - 1, "late")],
        },
    )
    out = str(tmp_path / "out")

    [task] = tasks_of("1970-01-02", parts, 4, out, ())
    part, sums = build_day(None, task).parts

    assert part.rows == 2
    assert part.path.startswith("day=1970-01-02/00-")
    assert part.partition == (("day", "1970-01-02"),)
    written = pl.read_parquet(tmp_path / "out" / "silver" / "decisions" / part.path)
    assert sorted(written.select("resource_name", "count").rows()) == [("late", 1), ("t", 2)]
    assert (sums.rows, sums.path.partition("-0")[0]) == (2, "days/1970")
    for day, files in (("1970-01-05", parts), ("1970-01-05", [])):
        [task] = tasks_of(day, files, 4, out, ())
        assert build_day(None, task).parts == ()


@pytest.mark.parametrize(
    ("lines", "spans"), [(0, 1), (2, 2), (5, 6), (30, 48), (1439, 1440), (10**6, 1440)]
)
def test_a_large_day_is_cut(tmp_path: Path, lines: int, spans: int) -> None:
    """The spans of a day are whole minutes, of which each decision is in one."""
    minutes = [decided(DAY_US + minute * 60_000_000, f"t{minute}") for minute in range(0, 1440, 7)]
    parts = bronze(tmp_path, {"a": minutes})

    tasks = list(tasks_of("1970-01-02", parts, lines * LINES_A_SPAN, str(tmp_path), ()))

    assert len(tasks) == spans
    if spans < 100:  # The others take a second each.
        found = [part for task in tasks for part in build_day(None, task).parts]
        rows = [part.rows for part in found if part.table == "decisions"]
        assert sum(rows) == len(minutes)
