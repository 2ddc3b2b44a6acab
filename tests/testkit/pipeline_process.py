"""A process that runs jobs of the pipeline one after the other: one Spark serves all of them.

To start Spark, its JVM and its Python takes longer than a small run.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING

from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.engines.spark import SparkEngine
from doorkeeper_pipeline.jobs.maintain import MaintainRequest, maintain
from doorkeeper_pipeline.jobs.request import RunRequest, Surroundings
from doorkeeper_pipeline.jobs.run import run
from testkit.checkout import ROOT
from testkit.load import scaled
from testkit.pipeline_runs import NOON

if TYPE_CHECKING:
    from pathlib import Path

    from testkit.spark_releases import Release

CORES = 2


class PipelineProcess:
    """A process with one engine; it ends when it is closed."""

    def __init__(self, engine: str, release: Release, log: Path) -> None:
        """Start it, with a release of PySpark; what it and Spark print goes to a file."""
        self._log = log
        with log.open("wb") as told:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "testkit.pipeline_process", engine],
                env=release.environment(ROOT / "tests"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=told,
            )

    def start(self, request: RunRequest | MaintainRequest) -> None:
        """Start a job."""
        assert self._process.stdin is not None
        pickle.dump(request, self._process.stdin)
        self._process.stdin.flush()

    def finish(self) -> str:
        """Wait until the job has ended; return what was printed if it failed."""
        assert self._process.stdout is not None
        is_done = self._process.stdout.readline() == b"done\n"
        return "" if is_done else self._log.read_text(errors="replace")[-3000:]

    def close(self) -> None:
        """End the process, and Spark with it."""
        self._process.communicate(timeout=scaled(60))


def serve(engine: Engine) -> None:
    """Run the jobs of stdin; for each print on stdout whether it is done or failed."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # Spark prints there too
        for number in count():
            try:
                request = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            try:
                run_job(request, engine, f"run-{number}")
            except Exception:
                traceback.print_exc()
                answers.write(b"failed\n")
            else:
                answers.write(b"done\n")
            answers.flush()


def run_job(request: RunRequest | MaintainRequest, engine: Engine, run_id: str) -> None:
    """Run a job at noon, whenever it is."""
    around = Surroundings(
        engine=engine, now=lambda: NOON, run_id=run_id, version="1", tell=lambda _: None
    )
    if isinstance(request, RunRequest):
        run(request, around)
    else:
        maintain(request, around)


if __name__ == "__main__":
    local = sys.argv[1] == "local"
    with closing(Engine() if local else SparkEngine(f"local[{CORES}]")) as chosen:
        serve(chosen)
