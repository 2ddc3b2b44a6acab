"""Where tables are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper_pipeline.tables import places

if TYPE_CHECKING:
    from pathlib import Path


def test_names_of_files() -> None:
    """Each table is in the folder of its layer."""
    assert places.single("denied") == "gold/denied/denied.parquet"
    assert places.part("lines", "ab", 3) == "bronze/lines/file_id=ab/part-00003.parquet"
    assert places.hour_file("2026-11-22T07") == "silver/decisions/day=2026-11-22/hour-07.parquet"


def test_files_of_a_table(tmp_path: Path) -> None:
    """All Parquet files below its folder, sorted; none before it was written."""
    assert places.files_of(tmp_path, "decisions") == []
    for hour in ("2026-11-22T07", "2026-11-21T23"):
        path = tmp_path / places.hour_file(hour)
        path.parent.mkdir(parents=True)
        path.touch()
    (tmp_path / places.folder_of("decisions") / "notes.txt").touch()

    found = places.files_of(tmp_path, "decisions")

    assert [name[-10:] for name in found] == ["23.parquet"[:10], "07.parquet"[:10]]
    assert places.relative(tmp_path, tmp_path / "a" / "b") == "a/b"
