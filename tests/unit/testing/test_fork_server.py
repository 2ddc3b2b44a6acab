"""Servers that are forked from one process, which has imported everything."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from doorkeeper.testing.fork_client import ForkClient, environment
from doorkeeper.testing.fork_server import ServeRequest
from testkit.load import scaled

TEST = """
import os, signal, sys
from doorkeeper.testing import DoorkeeperProcess
from doorkeeper.testing.fork_client import FORK_CLIENT
server = DoorkeeperProcess()
server.start()
print(server.pid, FORK_CLIENT.pid, flush=True)
"""


@pytest.mark.parametrize("ending", ["sys.exit(0)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_processes_end_with_the_test(ending: str) -> None:
    """Both the server and the process that forked it."""
    done = subprocess.run(
        [sys.executable, "-c", TEST + ending],
        capture_output=True,
        env=environment(),
        check=False,
        timeout=scaled(30),
    )

    pids = done.stdout.split()
    assert len(pids) == 2
    deadline_s = time.monotonic() + 30
    while any(is_running(int(pid)) for pid in pids):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Return whether a process has not ended; a zombie has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="latin-1")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_a_killed_fork_server_is_replaced(tmp_path: Path) -> None:
    """The next server is forked by a new one, and its status is reported."""
    request = ServeRequest(
        keys={"listeners": "PLAINTEXT://127.0.0.1:0", "doorkeeper.data.dir": "data"},
        environment=environment(),
        module_path=sys.path,
        folder=str(tmp_path),
        beginning=None,
    )
    with closing(ForkClient()) as client:
        client.prepare()
        first = client.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)

        server = client.fork(request)

        with server.stdout, server.stderr:
            assert any(b"started" in line for line in server.stdout)
            server.terminate()
            assert server.wait(scaled(30)) == 0
        assert client.pid != first
