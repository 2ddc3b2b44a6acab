"""A standalone Spark cluster on this machine, from pip's PySpark: a master and workers."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testkit.kafka_broker import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 90.0


def environment() -> dict[str, str]:
    """Return the variables that all of the cluster's processes need; our packages are not there.

    So a worker finds them only when the driver sends them.
    """
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "SPARK_HOME": str(Path(spec.origin).parent),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


@contextmanager
def standalone(folder: Path, workers: int) -> Iterator[str]:
    """Run a master and workers of one core each; yield the master's address."""
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    processes = []
    try:
        processes.append(
            _started(
                folder / "master.log",
                ["master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"],
            )
        )
        _wait_for(folder / "master.log", r"Starting Spark master|I have been elected leader", 1)
        for number in range(workers):
            command = ["worker.Worker", "--host", "127.0.0.1", "--webui-port", "0"]
            command += ["--cores", "1", "--memory", "2g", "--work-dir", str(folder / f"w{number}")]
            processes.append(_started(folder / f"worker{number}.log", [*command, address]))
        _wait_for(folder / "master.log", r"Registering worker", workers)
        yield address
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)


def kill_session(process: subprocess.Popen[Any]) -> None:
    """Kill a process that began a session, and all below it.

    PySpark's daemon has a process group of its own, so that the group of the process is not enough.
    """
    process.kill()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(ProcessLookupError):
                if os.getsid(int(entry.name)) == process.pid:
                    os.kill(int(entry.name), signal.SIGKILL)
    process.wait(30)


def _started(log: Path, command: list[str]) -> subprocess.Popen[bytes]:
    variables = environment()
    launcher = str(Path(variables["SPARK_HOME"]) / "bin" / "spark-class")
    with log.open("wb") as told:
        return subprocess.Popen(
            [launcher, f"org.apache.spark.deploy.{command[0]}", *command[1:]],
            env=variables,
            stdout=told,
            stderr=told,
            start_new_session=True,
        )


def _wait_for(log: Path, pattern: str, count: int) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while len(re.findall(pattern, log.read_text(errors="replace"))) < count:
        assert time.monotonic() < deadline_s, log.read_text(errors="replace")[-2000:]
        time.sleep(0.2)
