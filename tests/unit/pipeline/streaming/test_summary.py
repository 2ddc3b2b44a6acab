"""The sum of all batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.engines.contract import DISTINCT
from doorkeeper_pipeline.engines.local import LocalEngine
from doorkeeper_pipeline.engines.tuples import distinct
from doorkeeper_pipeline.streaming.batches import Batches
from doorkeeper_pipeline.streaming.summary import FOLDER, up_to_date
from testkit.trail_files import write_file

if TYPE_CHECKING:
    from pathlib import Path


def added(batches: Batches, folder: Path, number: int) -> None:
    """Add a batch with three decisions, two of which the one before has too."""
    name = f"{number}"
    (folder / name).mkdir()
    batches.add([str(write_file(folder / name, 1 + number, 3))], LocalEngine())


def whole(batches: Batches) -> pl.DataFrame:
    """Return the sum of all batches, from their own files."""
    return distinct(pl.scan_parquet(batches.decisions()), DISTINCT).sort(DISTINCT).collect()


def test_step_by_step_is_all_at_once(tmp_path: Path) -> None:
    """Whenever it is asked for, it holds every batch once; one file is left."""
    batches = Batches(tmp_path / "out")
    assert up_to_date(batches) == ()

    for number in range(4):
        added(batches, tmp_path, number)
        if number == 2:
            continue  # two batches at once are added too
        (path,) = up_to_date(batches)
        assert pl.read_parquet(path).equals(whole(batches))
        assert up_to_date(batches) == (path,)

    assert [path.name for path in (batches.root / FOLDER).iterdir()] == ["through-00000003.parquet"]
    assert whole(batches)["count"].sum() == 12


def test_what_was_left_half_made(tmp_path: Path) -> None:
    """A file without its name, and a summary of a batch that is not there, count for nothing."""
    batches = Batches(tmp_path / "out")
    added(batches, tmp_path, 0)
    (path,) = up_to_date(batches)
    added(batches, tmp_path, 1)
    (batches.root / FOLDER / "through-00000001.new").write_bytes(b"torn")
    (batches.root / FOLDER / "through-00000009.parquet").write_bytes(b"of another time")

    (path,) = up_to_date(batches)

    assert pl.read_parquet(path).equals(whole(batches))
    assert len(list((batches.root / FOLDER).iterdir())) == 1
