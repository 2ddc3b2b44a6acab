"""Runs on Spark whose driver, or one of whose workers, is killed: each line counts once.

``--spark-kills`` is the number of kills of each.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import polars as pl
import pytest

from doorkeeper_pipeline.tables.delta import Tables
from testkit.checkout import ROOT
from testkit.load import scaled
from testkit.pipeline_runs import silver_and_gold
from testkit.spark_cluster import Cluster, kill_session, standalone
from testkit.spark_releases import HERE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.slow]

LINES = 1000
"""Of each file; a round adds one."""
HOURS = 4
"""Each file has lines of all of them, so that each run replaces decisions of the earlier ones."""

LINE = (
    "[2026-11-22 {hour:02}:{minute:02}:07,000] INFO Principal = User:u{user} is Denied operation"
    " = READ from host = 10.0.0.7 on resource = Topic:LITERAL:t{name} for request = Fetch with"
    " resourceRefCount = 1 based on rule DefaultDeny (kafka.authorizer.logger)\n"
)
VARIABLES = {
    "PYTHONPATH": ":".join(str(ROOT / name) for name in ("server", "pipeline")),
    # A run takes seconds: most of it is the start of JVMs, whose best code would come too late.
    "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
CONF = {
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
}


class Runs:
    """Runs into one folder of tables, each with a file that the earlier ones did not have."""

    def __init__(self, folder: Path, master: str) -> None:
        """Begin with a run that is not disturbed: its time and commits are those of others."""
        self._logs, self.out = folder / "logs", folder / "out"
        self._logs.mkdir()
        self._spark = ["--master", master]
        for name, value in CONF.items():
            self._spark += ["--conf", f"{name}={value}"]
        self.files = 0
        self._running: subprocess.Popen[str] | None = None
        begin_s = time.monotonic()
        self.finish(self.start())
        self.usual_s = time.monotonic() - begin_s
        self.usual_commits = self.commits()

    def start(self) -> subprocess.Popen[str]:
        """Write a file of the log and start a run, in a session of its own."""
        (self._logs / f"kafka-authorizer.log.{self.files:03}").write_text(
            "".join(
                LINE.format(
                    hour=each % HOURS,
                    minute=each % 60,
                    user=each % 7,
                    name=f"{self.files}-{each}",
                )
                for each in range(LINES)
            )
        )
        self.files += 1
        return self.start_again()

    def start_again(self, *, by_spark: bool = True) -> subprocess.Popen[str]:
        """Start a run with the files that are there."""
        return self._started(self.out, *(self._spark if by_spark else ["--engine", "local"]))

    def close(self) -> None:
        """Kill the run that has not ended: its driver, the JVM, and all Python below."""
        if self._running is not None:
            if self._running.poll() is None:
                kill_session(self._running)
            self._running.communicate(timeout=scaled(60))

    def finish(self, process: subprocess.Popen[str]) -> None:
        """Wait until a run has ended, and compare what its tables hold."""
        _, told = process.communicate(timeout=scaled(900))
        assert process.returncode == 0, told[-3000:]
        assert self.files_in_tables() == self.files

    def files_in_tables(self) -> int:
        """Return the number of files in the tables, of which each counts whole and once."""
        now = Tables(self.out)
        seen = {
            name: (found["count"].sum(), found["resource_name"].n_unique())
            for name, found in ((name, now.read(name)) for name in ("decisions", "denied"))
        }
        assert len({number for numbers in seen.values() for number in numbers}) == 1, seen
        for place in ("silver/decisions", "gold/denied"):
            # Readers that know nothing of runs may find a table that is one run ahead.
            found = pl.read_delta(f"{self.out}/{place}")
            assert found["count"].sum() == found["resource_name"].n_unique()
            assert found["count"].sum() % LINES == 0
        files, rest = divmod(seen["decisions"][0], LINES)
        assert rest == 0, seen
        return int(files)

    def commits(self) -> int:
        """Return the number of commits to all tables."""
        return sum(1 for _ in self.out.glob("*/*/_delta_log/*.json"))

    def staged(self) -> int:
        """Return the number of files of the table runs, which a run writes before it commits."""
        return sum(1 for _ in self.out.glob("*/runs/*.parquet"))

    def compare_with_undisturbed(self, folder: Path) -> None:
        """Compare silver and gold with those of one run of the local engine over all files."""
        for out in (self.out, folder):
            process = self._started(out, "--engine", "local")
            _, told = process.communicate(timeout=scaled(300))
            assert process.returncode == 0, told[-3000:]
        assert silver_and_gold(self.out) == silver_and_gold(folder)

    def _started(self, out: Path, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "doorkeeper_pipeline", "run"]
        self._running = subprocess.Popen(
            [*command, "--log", str(self._logs), "--tables", str(out), *options],
            env=HERE.environment() | VARIABLES,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return self._running


def wait_for_commits(process: subprocess.Popen[str], runs: Runs, wanted: int) -> None:
    """Wait until a run has made so many commits, or has ended.

    All of them take less time than to count them, and a busy machine may not let this process
    count: from its last file on the run stands still meanwhile.
    """
    staged = runs.staged()
    while process.poll() is None and runs.staged() == staged:
        time.sleep(0.001)
    process.send_signal(signal.SIGSTOP)
    while process.poll() is None and runs.commits() < wanted:
        process.send_signal(signal.SIGCONT)
        time.sleep(0.001)
        process.send_signal(signal.SIGSTOP)


@pytest.mark.timeout(7200)  # at the function: one of the module gives way to that of the folder
def test_killed_drivers(
    tmp_path: Path, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    """A driver that dies at any moment leaves the tables of before, or those of its run.

    It dies with its JVM and all Python below; every other one dies between two commits.
    """
    drawn = random.Random(22)
    died = {"before": 0, "during": 0, "after": 0}
    with closing(Runs(tmp_path, "local[2]")) as runs:
        for number in range(1, pytestconfig.getoption("--spark-kills") + 1):
            commits = runs.commits()
            process = runs.start()
            if number % 2:
                time.sleep(drawn.uniform(0, runs.usual_s))
            else:
                wait_for_commits(process, runs, commits + drawn.randrange(1, runs.usual_commits))
            runs.close()

            there = runs.files_in_tables()

            assert there in (runs.files - 1, runs.files)
            moment = "after" if there == runs.files else "during"
            died[moment if runs.commits() > commits else "before"] += 1
            # The tables are the same for both engines, and the local one starts in a second.
            runs.finish(runs.start_again(by_spark=number % 5 == 0))
        runs.compare_with_undisturbed(tmp_path / "undisturbed")

    with capsys.disabled():
        told = ", ".join(f"{count} {moment}" for moment, count in died.items())
        sys.stdout.write(f"\ndrivers killed {told} the commits of their run\n")
    assert died["during"] > 0


def wait_for_executor(process: subprocess.Popen[str], cluster: Cluster) -> float:
    """Wait until the oldest worker works for a run; return the time."""
    while process.poll() is None and not cluster.executors():
        time.sleep(0.02)
    return time.monotonic()


@pytest.mark.timeout(7200)  # as above
def test_killed_workers(
    tmp_path: Path, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where one of two workers dies at any moment of its work, the other one does the work.

    Every other time the worker's process dies alone, else with its executors and their Python.
    """
    drawn = random.Random(23)
    died = {"alone": 0, "with its executors": 0}
    with (
        standalone(tmp_path, 2) as cluster,
        closing(Runs(tmp_path, cluster.address)) as runs,
    ):
        process = runs.start()
        begin_s = wait_for_executor(process, cluster)
        runs.finish(process)
        usual_s = time.monotonic() - begin_s
        for number in range(1, pytestconfig.getoption("--spark-kills") + 1):
            process = runs.start()
            wait_for_executor(process, cluster)
            time.sleep(drawn.uniform(0, usual_s))
            works = process.poll() is None and cluster.executors() > 0
            alone = number % 2 == 1
            cluster.kill_worker(alone=alone)
            died["alone" if alone else "with its executors"] += works
            runs.finish(process)
            cluster.add_worker()
        runs.compare_with_undisturbed(tmp_path / "undisturbed")

    with capsys.disabled():
        told = ", ".join(f"{count} {how}" for how, count in died.items())
        sys.stdout.write(f"\nworkers killed at their work: {told}\n")
    assert min(died.values()) > 0
