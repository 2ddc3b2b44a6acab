"""What people look at while the stream runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper.acl.decision import Policy
from doorkeeper_pipeline.engines.local import LocalEngine
from doorkeeper_pipeline.streaming.batches import Batches
from doorkeeper_pipeline.streaming.views import VIEWS, refresh
from testkit.trail_files import write_file

if TYPE_CHECKING:
    from pathlib import Path


def test_views_are_made_anew(tmp_path: Path) -> None:
    """Made twice they are the same, and hold every batch."""
    batches = Batches(tmp_path)
    for number in range(2):
        path = write_file(tmp_path, 1 + number * 3, 3)
        batches.add([str(path)], LocalEngine())

    rows = refresh(tmp_path, batches, Policy())

    files = [batches.root / name / f"{name}.parquet" for name in VIEWS]
    before = [path.read_bytes() for path in files]
    assert refresh(tmp_path, batches, Policy()) == rows
    assert [path.read_bytes() for path in files] == before
    assert pl.read_parquet(files[0])["count"].sum() == 4
