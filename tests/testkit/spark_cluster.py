"""Spark on this machine, from pip's PySpark: a standalone cluster, a server of Spark Connect."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testkit.kafka_broker import free_port
from testkit.load import scaled
from testkit.spark_releases import HERE, Release, jars_of

if TYPE_CHECKING:
    from collections.abc import Iterator

EXECUTOR = b"CoarseGrainedExecutorBackend"
PATIENCE_S = 180.0


class Cluster:
    """A master and workers of one core each; a worker may be killed, and another one started."""

    def __init__(self, folder: Path, release: Release) -> None:
        """Start the master."""
        self._folder = folder
        self._release = release
        self._log = folder / "master.log"
        port = free_port()
        self.address = f"spark://127.0.0.1:{port}"
        command = ["master.Master", "--host", "127.0.0.1", "--port", str(port)]
        self._master = self._started(self._log, [*command, "--webui-port", "0"])
        self._workers: list[subprocess.Popen[bytes]] = []
        self._killed: list[subprocess.Popen[bytes]] = []
        self._registered = 0

    def wait(self) -> None:
        """Wait until the master takes workers."""
        _wait_for(self._log, r"Starting Spark master|I have been elected leader", 1)

    def add_worker(self) -> None:
        """Start a worker, and wait until the master knows it."""
        number = self._registered
        command = ["worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "--cores", "1"]
        command += ["--memory", "2g", "--work-dir", str(self._folder / f"w{number}")]
        log = self._folder / f"worker{number}.log"
        self._workers.append(self._started(log, [*command, self.address]))
        self._registered += 1
        _wait_for(self._log, r"Registering worker", self._registered)

    def executors(self) -> int:
        """Return the number of executors that the oldest worker runs."""
        found = 0
        for process in _of_session(self._workers[0]):
            with suppress(FileNotFoundError, ProcessLookupError):
                found += EXECUTOR in Path(f"/proc/{process}/cmdline").read_bytes()
        return found

    def kill_worker(self, *, alone: bool) -> None:
        """Kill the oldest worker: alone, or with its executors and their Python, as a machine.

        Executors that are left alone end themselves when they find out.
        """
        process = self._workers.pop(0)
        if not alone:
            kill_session(process)
            return
        process.kill()
        # It is waited for at the end: until then no other session can have its number.
        self._killed.append(process)

    def close(self) -> None:
        """End all processes."""
        for process in (*self._killed, *self._workers, self._master):
            kill_session(process)

    def _started(self, log: Path, command: list[str]) -> subprocess.Popen[bytes]:
        program = f"org.apache.spark.deploy.{command[0]}"
        return _launched(self._release, log, "256m", "spark-class", program, *command[1:])


@contextmanager
def standalone(folder: Path, workers: int, release: Release = HERE) -> Iterator[Cluster]:
    """Run a master and workers of one core each."""
    cluster = Cluster(folder, release)
    try:
        cluster.wait()
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.close()


@contextmanager
def connect_server(folder: Path, release: Release = HERE) -> Iterator[str]:
    """Run a server of Spark Connect on two cores, and yield its address."""
    port = free_port()
    log = folder / "connect.log"
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    process = _launched(
        release,
        log,
        "1g",  # the server is the driver
        *("spark-submit", "--class", server, "--master", "local[2]"),
        *(("--jars", jars_of(release.connect)) if release.connect else ()),
        *("--conf", f"spark.connect.grpc.binding.port={port}"),
        *("--conf", "spark.connect.grpc.binding.address=127.0.0.1"),
    )
    try:
        _wait_for(log, r"Spark Connect server started", 1)
        yield f"sc://127.0.0.1:{port}"
    finally:
        kill_session(process)


def kill_session(process: subprocess.Popen[Any]) -> None:
    """Kill a process that began a session, and all below it.

    PySpark's daemon has a process group of its own, so that the group of the process is not enough.
    """
    process.kill()
    for number in _of_session(process):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    process.wait(scaled(30))


def _of_session(process: subprocess.Popen[Any]) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(ProcessLookupError):
                if os.getsid(int(entry.name)) == process.pid:
                    yield int(entry.name)


def _launched(
    release: Release, log: Path, memory: str, program: str, *words: str
) -> subprocess.Popen[bytes]:
    variables = release.environment() | {"SPARK_DAEMON_MEMORY": memory}
    launcher = str(Path(variables["SPARK_HOME"]) / "bin" / program)
    with log.open("wb") as told:
        return subprocess.Popen(
            [launcher, *words],
            cwd=log.parent,  # where the server of Spark Connect 3.5 puts what it is sent
            env=variables,
            stdout=told,
            stderr=told,
            start_new_session=True,
        )


def _wait_for(log: Path, pattern: str, count: int) -> None:
    deadline_s = time.monotonic() + scaled(PATIENCE_S)
    while len(re.findall(pattern, log.read_text(errors="replace"))) < count:
        assert time.monotonic() < deadline_s, log.read_text(errors="replace")[-2000:]
        time.sleep(0.2)
