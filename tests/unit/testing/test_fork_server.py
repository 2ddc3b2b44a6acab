"""The process that forks servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from doorkeeper.testing import forked
from testkit.forking import WAIT_S, ended, gone, is_there, started, wanted

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test have one of its own, which ends with it."""
    monkeypatch.setattr(forked, "_current", [])


ENDINGS = {
    "by exit": "sys.exit(0)",
    "by a signal": "os.kill(os.getpid(), signal.SIGKILL)",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_test_that_ends_leaves_nobody_behind(tmp_path: Path, ending: str) -> None:
    """However it ends: its servers end, and who forked them."""
    code = f"""
import os, signal, sys
from doorkeeper.testing import DoorkeeperProcess, forked
server = DoorkeeperProcess()
server.start()
print(server.pid, forked._current[0]._process.pid, flush=True)
{ENDINGS[ending]}
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # Python tells of the server that was not closed
        env={**forked.environment(), "TMPDIR": str(tmp_path)},
        check=False,
        timeout=WAIT_S,
    )

    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 2
    assert all(gone(pid) for pid in pids)


@pytest.mark.usefixtures("own")
def test_an_interrupt_from_the_terminal_is_for_the_servers(tmp_path: Path) -> None:
    """It comes to all processes: a server ends in order, and who forks goes on."""
    first = forked.fork(wanted(tmp_path), encrypts=False)
    started(first)
    for pid in (forked._current[0]._process.pid, first.pid):
        os.kill(pid, signal.SIGINT)
    assert ended(first) == 0
    second = forked.fork(wanted(tmp_path), encrypts=False)

    assert started(second)
    forked._close()
    assert gone(second.pid)
    assert not is_there(first.pid)
    assert ended(second) in (0, -signal.SIGKILL)


@pytest.mark.usefixtures("own")
def test_what_is_missing_is_told_by_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who forks imports what there is; the server then says what it lacks."""
    (tmp_path / "immutables.py").write_text("raise ImportError('no immutables')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    server = forked.fork(wanted(tmp_path), encrypts=False)

    told = server.stderr.read()
    assert ended(server) == 1
    assert told.splitlines()[-1] == b"ImportError: no immutables"
    forked._close()
