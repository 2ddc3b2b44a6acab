"""Logs and tables in an S3 server: both engines, killed runs, two writers, another reader."""

from __future__ import annotations

import gzip
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import obstore
import polars as pl
import pytest
from deltalake import DeltaTable
from obstore.store import from_url

from doorkeeper_pipeline.errors import Busy
from doorkeeper_pipeline.tables.delta import Change, Tables
from testkit.checkout import ROOT
from testkit.kafka_jars import Unavailable, cannot, other_jars
from testkit.load import scaled
from testkit.pipeline_runs import silver_and_gold
from testkit.s3_server import s3_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(900)]

PLACE = "s3a://access-tables/access"
LINE = (
    "[2026-11-22 07:10:00,000] INFO Principal = User:{user} is Denied operation = READ from host ="
    " 10.0.0.7 on resource = Topic:LITERAL:t for request = Fetch with resourceRefCount = 1 based on"
    " rule DefaultDeny (kafka.authorizer.logger)\n"
)
LINES = 5_000
STEPS = ("staged", "committed lines", "committed decisions", "committed files")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Run the server; this process and its children are its clients."""
    try:
        with (
            pytest.MonkeyPatch.context() as patched,
            s3_server(tmp_path_factory.mktemp("s3"), "access-tables") as variables,
        ):
            for name, value in variables.items():
                patched.setenv(name, value)
            yield variables
    except Unavailable as error:
        cannot(str(error))


def ran(logs: Path | str, place: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "doorkeeper_pipeline", "run", "--quiet"),
            *("--log", str(logs), "--tables", place, *options),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=scaled(600),
    )


KILLED = """
import datetime as dt, os, signal, sys
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.jobs.request import RunRequest, Surroundings
from doorkeeper_pipeline.jobs.run import run

logs, out, step = sys.argv[1:]

def checkpoint(reached):
    if reached == step:
        os.kill(os.getpid(), signal.SIGKILL)

now = dt.datetime(2026, 11, 22, tzinfo=dt.UTC)
around = Surroundings(
    engine=Engine(), now=lambda: now, run_id="killed", version="1", tell=lambda _: None,
    checkpoint=checkpoint,
)
run(RunRequest(out=out, inputs=(logs,)), around)
"""


def principals(place: str) -> list[str]:
    """Return the principals that were refused."""
    found: list[str] = sorted(Tables(place).read("denied")["principal"].to_list())
    return found


@pytest.mark.usefixtures("store")
def test_runs_and_kills(tmp_path: Path) -> None:
    """Killed between any two commits the old tables are read, and the next run makes the new."""
    (tmp_path / "0.log").write_text(LINE.format(user="u0"))
    assert ran(tmp_path, PLACE).returncode == 0
    there = ["User:u0"]
    for number, step in enumerate(STEPS, 1):
        (tmp_path / f"{number}.log").write_text(LINE.format(user=f"u{number}"))
        killed = subprocess.run(
            [sys.executable, "-c", KILLED, str(tmp_path), PLACE, step], check=False, timeout=300
        )
        assert killed.returncode == -signal.SIGKILL
        assert principals(PLACE) == there

        done = ran(tmp_path, PLACE)

        assert done.returncode == 0, done.stderr
        there.append(f"User:u{number}")
        assert principals(PLACE) == there
        assert Tables(PLACE).read("decisions")["count"].sum() == number + 1
    seen = pl.read_delta(f"{PLACE}/gold/denied")
    assert sorted(seen["principal"].to_list()) == there
    assert DeltaTable(f"{PLACE}/gold/denied").version() >= len(STEPS)


@pytest.mark.usefixtures("store")
def test_two_writers(tmp_path: Path) -> None:
    """There is no lock; the commit of the second one fails, and its run changes nothing."""
    place = f"{PLACE}-of-two"
    (tmp_path / "0.log").write_text(LINE.format(user="u0"))
    assert ran(tmp_path, place).returncode == 0
    changes = [Change(Tables(place)) for _ in range(2)]
    for number, change in enumerate(changes):
        rows = change.tables.read("runs").with_columns(run_id=pl.lit(f"run-{number}"))
        change.replace("runs", rows)
    changes[0].commit()

    with pytest.raises(Busy, match="another process has changed the tables"):
        changes[1].commit()

    assert Tables(place).read("runs")["run_id"].to_list() == ["run-0"]


def test_spark_reads_and_writes(tmp_path: Path, store: dict[str, str]) -> None:
    """Logs and tables at s3a addresses: Spark writes the rows that the local engine writes."""
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.log").write_text(LINE.format(user="a") * LINES)
    (logs / "b.log.gz").write_bytes(gzip.compress((LINE.format(user="b") * LINES).encode()))
    bucket = from_url("s3://access-tables")
    for path in logs.iterdir():
        obstore.put(bucket, f"logs/{path.name}", path.read_bytes())
    pom = ROOT / "tests" / "interop" / "hadoop_aws" / "pom.xml"
    jars = sorted(map(str, other_jars(pom).glob("*.jar")))
    conf = {
        "spark.jars": ",".join(jars),
        "spark.sql.shuffle.partitions": "2",
        "spark.hadoop.fs.s3a.endpoint": store["AWS_ENDPOINT_URL"],
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }
    options = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    place = "s3a://access-tables/by-spark"

    for _ in range(2):  # the second run has nothing new
        done = ran("s3a://access-tables/logs", place, "--master", "local[2]", *options)
        assert done.returncode == 0, done.stderr[-3000:]

    assert ran(logs, str(tmp_path / "local")).returncode == 0
    assert silver_and_gold(place) == silver_and_gold(tmp_path / "local")
    assert Tables(place).read("decisions")["count"].sum() == 2 * LINES
    assert Tables(place).read("runs")["files_read"].to_list() == [2, 0]
