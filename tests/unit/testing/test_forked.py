"""Processes that are forked, as the test sees them."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from doorkeeper.testing import DoorkeeperProcess, forked
from testkit.forking import WAIT_S, ended, gone, is_there, started, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from doorkeeper.testing.forked import Forked

OTHER = {"doorkeeper_data_dir": "other"}
TELLS = """
import os, sys
from testkit.plugins import InMemory

class Telling(InMemory):
    def configure(self, configs):
        print("told", os.environ["OF_THIS_MOMENT"], os.getcwd(), flush=True)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Forked]:
    server = forked.fork(wanted(tmp_path), encrypts=False)
    assert started(server)
    yield server
    server.kill()
    ended(server)


def test_who_is_told_to_end_ends_in_order(server: Forked) -> None:
    """The status is that of a server; one that has ended is told nothing, by whatever name."""
    with pytest.raises(TimeoutError):
        server.wait(0)
    with pytest.raises(TimeoutError):
        server.wait(0.01)
    server.terminate()

    assert server.wait(WAIT_S) == 0
    assert b'"stopped"' in server.stdout.read()
    assert not server.stderr.read()
    assert not is_there(server.pid)
    server.kill()
    assert server.wait() == 0


def test_who_is_killed_has_the_signal_as_status(server: Forked) -> None:
    """As a process that Python has started itself."""
    server.kill()

    assert server.wait(WAIT_S) == -signal.SIGKILL


def test_it_has_what_the_test_has_at_this_moment(tmp_path: Path, server: Forked) -> None:
    """Environment, folder and modules: the process that forks was there before them."""
    assert is_there(server.pid)
    (tmp_path / "telling_module.py").write_text(TELLS, encoding="utf-8")
    name = "telling_module.Telling"
    telling = forked.fork(wanted(tmp_path, authorizer_class_name=name, **OTHER), encrypts=False)

    lines = started(telling)
    telling.terminate()

    assert ended(telling) == 0
    assert f"told now {tmp_path}\n".encode() in lines


def test_where_the_one_that_forks_is_killed_there_is_another(
    tmp_path: Path, server: Forked
) -> None:
    """The next server finds one. Of those before nothing can be told: whoever waits ends them."""
    before = forked._current[0]
    before._process.kill()
    before._process.wait()
    after = forked.fork(wanted(tmp_path, **OTHER), encrypts=False)

    assert forked._current[0] is not before
    assert is_there(server.pid)
    assert server.wait(WAIT_S) == -signal.SIGKILL
    assert gone(server.pid)
    assert started(after)
    after.terminate()
    assert ended(after) == 0


def test_many_at_once() -> None:
    """Threads of a test start servers side by side, and no end of one is another's."""
    servers: list[DoorkeeperProcess] = []

    def start(listener: str) -> None:
        server = DoorkeeperProcess(listeners=[listener])
        server.start()
        servers.append(server)

    threads = [threading.Thread(target=start, args=(name,)) for name in ("PLAINTEXT", "SSL") * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(servers) == 4
    assert len({server.pid for server in servers}) == 4
    while servers:
        ending = servers.pop()
        pid = ending.pid
        ending.close()
        assert not is_there(pid)
        for other in servers:
            assert other.acls() == []


def test_a_fork_of_the_test_has_one_of_its_own() -> None:
    """It starts servers, and ends only those."""
    code = """
import os
from doorkeeper.testing import DoorkeeperProcess, forked
with DoorkeeperProcess() as ours:
    pid = os.fork()
    if not pid:
        with DoorkeeperProcess() as theirs:
            print(theirs.acls(), flush=True)
        ours.kill()
        ours.close()
        os._exit(0)  # as multiprocessing ends a fork: what its parent has is not to be cleaned up
    assert os.waitpid(pid, 0)[1] == 0
    print(ours.acls(), flush=True)
    ours.restart()
    print(ours.acls())
"""
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", code],
        capture_output=True,
        env=forked.environment(),
        check=True,
        timeout=WAIT_S,
    )

    assert done.stdout.split() == [b"[]"] * 3
    assert not done.stderr
