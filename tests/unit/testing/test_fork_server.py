"""The process that forks servers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from doorkeeper.testing.fork_client import ForkClient, environment
from testkit.forking import WAIT_S, ended, gone, started, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def forking() -> Iterator[ForkClient]:
    """Give a process of the test's own, that forks and ends with it."""
    forking = ForkClient()
    yield forking
    forking.close()


TEST = """
from os import *
import signal, sys, time
from doorkeeper.testing import DoorkeeperProcess
from doorkeeper.testing.fork_client import FORK_CLIENT
server = DoorkeeperProcess()
server.start()
print(server.pid, FORK_CLIENT.pid, flush=True)
"""
KILLED = "kill(getpid(), signal.SIGKILL)"
ENDINGS = {
    "by exit": "sys.exit(0)",
    "by a signal": KILLED,
    "with its terminal": "signal.signal(signal.SIGHUP, signal.SIG_DFL); killpg(0, signal.SIGHUP)",
    "with a server that is stopped": f"kill(server.pid, signal.SIGSTOP); {KILLED}",
    "behind the one that forks": (
        f"kill(FORK_CLIENT.pid, signal.SIGKILL); time.sleep(0.1); {KILLED}"
    ),
    "before its fork": f"fork() or (close(1), time.sleep(30)); {KILLED}",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_test_that_ends_leaves_nobody_behind(tmp_path: Path, ending: str) -> None:
    """However it ends: its servers end, and who forked them."""
    with subprocess.Popen(
        [sys.executable, "-c", TEST + ENDINGS[ending]],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # Python tells of the server that was not closed
        env={**environment(), "TMPDIR": str(tmp_path)},
        start_new_session=True,
    ) as test:
        assert test.stdout is not None
        pids = [int(pid) for pid in test.stdout.readline().split()]
        test.wait(WAIT_S)

        try:
            assert len(pids) == 2
            assert all(gone(pid) for pid in pids)
        finally:
            with suppress(ProcessLookupError):  # there may be a fork of the test
                os.killpg(test.pid, signal.SIGKILL)


def test_an_interrupt_from_the_terminal_is_for_the_servers(
    tmp_path: Path, forking: ForkClient
) -> None:
    """It comes to all processes: a server ends in order, and who forks goes on."""
    first = forking.fork(wanted(tmp_path))
    started(first)
    for pid in (forking.pid, first.pid):
        assert pid is not None
        os.kill(pid, signal.SIGINT)
    assert ended(first) == 0
    second = forking.fork(wanted(tmp_path))

    assert started(second)
    forking.close()
    assert ended(second) == 0


def test_what_is_missing_is_told_by_the_server(
    tmp_path: Path, forking: ForkClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who forks imports what there is; the server then says what it lacks, or what is broken."""
    (tmp_path / "immutables.py").write_text("raise OSError('no immutables')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    server = forking.fork(wanted(tmp_path))

    told = server.stderr.read()
    assert ended(server) == 1
    assert told.splitlines()[-1] == b"OSError: no immutables"


def test_who_cannot_fork_goes_on(
    tmp_path: Path, forking: ForkClient, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where a request cannot be met it says why, and servers that there are stay."""
    first = forking.fork(wanted(tmp_path))
    assert started(first)
    running = forking._running
    assert running is not None
    about, its_about = socket.socketpair()
    with about, its_about:
        socket.send_fds(running._ask, [b"\0"], [its_about.fileno()])
    second = forking.fork(wanted(tmp_path, doorkeeper_data_dir="other"))

    assert started(second)
    assert "could not be forked: 1 of 4 descriptors came" in capfd.readouterr().err
    for server in (first, second):
        server.terminate()
        assert ended(server) == 0
