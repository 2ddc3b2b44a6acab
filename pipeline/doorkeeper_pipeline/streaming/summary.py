"""All decisions of all batches as one file, from which the views are made.

A day of a busy trail has some three thousand batches, and reading each of them for every view took
six seconds then, more every day. So the sum stays, with the number of the last batch in
its name, and only newer batches are added. It follows from the batches: without it, it is made of
all of them again.

    stream/summary/through-00000042.parquet
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.engines.contract import DISTINCT
from doorkeeper_pipeline.engines.tuples import COUNTS, distinct
from doorkeeper_pipeline.tables import contents

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper_pipeline.streaming.batches import Batches

FOLDER = "summary"
_NAME = "through-{:08d}.parquet"


def up_to_date(batches: Batches) -> tuple[str, ...]:
    """Return the file that sums up all batches, made now where it is not there; none without any.

    It is there whole or not at all: written beside, synced, and given its name.
    """
    numbers = batches.numbers()
    if not numbers:
        return ()
    target = batches.root / FOLDER / _NAME.format(numbers[-1])
    if not target.exists():
        before = [number for number in numbers if _of(batches, number).exists()]
        _write(_sum(batches, numbers, before[-1] if before else None), target)
    for path in target.parent.glob("through-*"):
        if path != target:
            path.unlink()
    return (str(target),)


def _of(batches: Batches, number: int) -> Path:
    return batches.root / FOLDER / _NAME.format(number)


def _sum(batches: Batches, numbers: list[int], through: int | None) -> pl.DataFrame:
    """Return the sum of a summary through a batch, or of nothing, and of all batches behind it."""
    new = [number for number in numbers if through is None or number > through]
    files = [
        path
        for number in new
        for path in sorted((batches.folder_of(number) / "decisions").glob("*.parquet"))
    ]
    if through is not None:
        files.append(_of(batches, through))
    columns = [*DISTINCT, *COUNTS]
    parts = [
        pl.scan_parquet(path, hive_partitioning=False, glob=False).select(columns) for path in files
    ]
    every = pl.concat([contents.empty("decisions").lazy().select(columns), *parts])
    return distinct(every).sort(DISTINCT).collect()


def _write(summary: pl.DataFrame, target: Path) -> None:
    new = target.with_suffix(".new")
    contents.write(summary, new)
    with new.open("rb") as file:
        os.fsync(file.fileno())
    new.replace(target)
