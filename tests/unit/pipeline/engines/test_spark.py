"""Spark gives what the engine without a JVM gives."""

from __future__ import annotations

import datetime as dt
import gc
import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.jobs.request import RunRequest, Surroundings
from doorkeeper_pipeline.jobs.run import run
from doorkeeper_pipeline.schemas import TABLES
from doorkeeper_pipeline.tables import delta
from doorkeeper_pipeline.tables.delta import Tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper_pipeline.engines.spark import SparkEngine

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("default")]

MANIFEST = ("runs", "files")
NOW = dt.datetime(2026, 11, 22, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkEngine]:
    """Return the engine on two threads of this machine."""
    from doorkeeper_pipeline.engines.spark import SparkEngine

    engine = SparkEngine("local[2]")
    yield engine
    engine.close()
    gc.collect()  # PySpark's sockets, of which it warns here and in no other test


def ran(engine: Engine, logs: Path | str, out: Path, run_id: str = "run") -> dict[str, bytes]:
    """Return the bytes of silver, of the sums and of gold after a run."""
    # The log has more bad lines than a run allows by default.
    request = RunRequest(out=out, inputs=(str(logs),), slice_bytes=3000, max_quarantined=50)
    around = Surroundings(
        engine=engine, now=lambda: NOW, run_id=run_id, version="1", tell=lambda _: None
    )
    run(request, around)
    now = Tables(out)
    return {
        f"{name} {number}": Path(file).read_bytes()
        for name, table in TABLES.items()
        if table.layer in {"silver", "aggregate", "gold"}
        for number, file in enumerate(now.files(name))
    }


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a log of some hours, with bad lines and a name of two lines."""
    folder = tmp_path_factory.mktemp("logs")
    lines = [
        f"[2026-11-2{number % 3} 0{number % 7}:10:00,000] INFO Principal = User:p{number % 5} is"
        f" Denied Operation = Read from host = h{number % 2} on resource ="
        f" Group:LITERAL:n{number % 11}{chr(10) * (number % 2)}x (kafka.authorizer.logger)\n"
        + "garbage\n"
        * (number % 10 == 0)
        for number in range(300)
    ]
    (folder / "kafka-authorizer.log").write_text("".join(lines))
    return folder


def test_run_without_changes_keeps_gold_tables(
    spark: SparkEngine, logs: Path, tmp_path: Path
) -> None:
    ran(Engine(), logs, tmp_path)
    before = {name: delta.Tables(tmp_path).files(name) for name in TABLES if name not in MANIFEST}

    ran(spark, logs, tmp_path, "again")

    assert {name: delta.Tables(tmp_path).files(name) for name in before} == before


def test_engines_produce_equal_tables(spark: SparkEngine, logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "spark[1] {a,b}*?"
    here = ran(Engine(), logs, tmp_path / "local")
    there = ran(spark, logs, out)

    assert len(here) > 5
    assert there == here
    assert len(delta.Tables(out).read("quarantine")) == 30


@pytest.mark.slow
# Spark starts some hundred tasks: two minutes on a machine with other work.
@pytest.mark.timeout(600)
def test_incremental_runs_of_both_engines_are_equal(
    spark: SparkEngine, logs: Path, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    site = tmp_path / "logs"
    site.mkdir()
    text = (logs / "kafka-authorizer.log").read_text()
    for number, engines in enumerate(((Engine(), spark), (spark, Engine()), (Engine(), spark))):
        # An hour that is new, and the last time hours that were there.
        day = f"2026-11-2{3 + number}" if number < 2 else "2026-11-22"
        (site / f"{number}.log").write_text(text.replace("2026-11-21", day))
        here, there = (
            ran(engine, site, out, f"run-{number}")
            for engine, out in zip(engines, (first, second), strict=True)
        )
        assert here == there


def test_remote_files_are_read(spark: SparkEngine, logs: Path, tmp_path: Path) -> None:
    there = tmp_path / "a b" / "day=1"
    there.mkdir(parents=True)
    text = (logs / "kafka-authorizer.log").read_bytes()
    half = text.index(b"[2026", len(text) // 2)
    (there / "kafka.log.1.gz").write_bytes(gzip.compress(text[:half]))
    (there / "kafka.log").write_bytes(text[half:])
    (there / "empty.log").touch()
    here = ran(Engine(), there, tmp_path / "local")

    address = f"file:{tmp_path}/a b"
    assert ran(spark, address, tmp_path / "spark") == here

    bad = [delta.Tables(tmp_path / name).read("quarantine") for name in ("local", "spark")]
    columns = ["byte_offset", "byte_length", "reason", "text"]
    assert bad[0].select(columns).sort(columns).equals(bad[1].select(columns).sort(columns))
    assert set(bad[1]["file"]) == {
        f"file:{tmp_path}/a b/day=1/{name}" for name in ("kafka.log", "kafka.log.1.gz")
    }
    ran(spark, address, tmp_path / "spark", "run2")
    assert delta.Tables(tmp_path / "spark").read("runs")["files_read"].to_list() == [2, 0]


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("xyz://bucket/logs", "xyz://bucket/logs"),
        ("file:/there/is/no/such/folder", "file:/there/is/no/such/folder"),
    ],
)
def test_unreadable_addresses_are_reported(
    spark: SparkEngine, tmp_path: Path, address: str, found: str
) -> None:
    with pytest.raises(Unreadable) as refused:
        ran(spark, address, tmp_path / "out")

    assert str(refused.value).startswith(found)
    assert "\n" not in str(refused.value)
    assert not list(tmp_path.rglob("*.parquet"))
