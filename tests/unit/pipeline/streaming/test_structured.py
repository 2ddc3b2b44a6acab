"""The stream on Spark; ``tests/interop/pipeline/test_pipeline_stream.py`` kills it."""

from __future__ import annotations

import gc
import shutil
from typing import TYPE_CHECKING

import polars as pl
import pytest

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.engines.local import LocalEngine
from doorkeeper_pipeline.streaming.batches import Batches
from doorkeeper_pipeline.streaming.following import StreamRequest, follow
from doorkeeper_pipeline.streaming.structured import LOCK, path_of, stream
from testkit.trail_files import write_file

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("file:/a/b.jsonl", "/a/b.jsonl"),
        ("file:///a/with%20blank%25.jsonl", "/a/with blank%.jsonl"),
        ("/plain", "/plain"),
    ],
)
def test_what_spark_calls_a_file(url: str, path: str) -> None:
    """Spark writes paths as addresses."""
    assert path_of(url) == path


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.filterwarnings("default")
def test_once_and_alone(tmp_path: Path) -> None:
    """All files are read, once, also in a second go, and the lock is given back.

    The local stream may go on in between, and the checkpoint may be lost.
    """
    from doorkeeper_pipeline.engines.spark import SparkEngine

    trail = tmp_path / "with blank"
    trail.mkdir()
    request = StreamRequest(trail=trail, out=tmp_path / "out", policy=Policy(), once=True)
    batches = Batches(request.out)
    engine = SparkEngine("local[2]")
    told: list[str] = []
    try:
        for number in range(2):
            write_file(trail, number * 5 + 1, 5, compressed=number == 1)
            stream(request, engine, told.append, lambda _: True)
        write_file(trail, 11, 5)
        follow(request, LocalEngine(), told.append, lambda _: True)
        write_file(trail, 16, 5)
        stream(request, engine, told.append, lambda _: True)
        shutil.rmtree(batches.root / "checkpoint")
        write_file(trail, 21, 5)
        stream(request, engine, told.append, lambda _: True)
        java = engine.session.sparkContext._jvm.java.io.RandomAccessFile(
            str(batches.root / LOCK), "rw"
        )
        lock = java.getChannel().tryLock()
        assert lock is not None, "the lock was not given back"
    finally:
        engine.close()
        gc.collect()  # PySpark's sockets, of which it warns here and in no other test

    names = pl.read_parquet(batches.decisions())["resource_name"].to_list()
    assert sorted(names) == sorted(f"t{number}" for number in range(1, 26))
    assert [line[:17] for line in told] == [f"batch {number}: 1 files," for number in range(5)]
