"""Processes that are forked, as the test sees them."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from doorkeeper.testing.fork_client import FORK_CLIENT
from testkit.forking import WAIT_S, ended, is_there, started, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from doorkeeper.testing.forked_process import ForkedProcess

TELLS = """
import os, time
from testkit.plugins import InMemory

class Telling(InMemory):
    def configure(self, configs):
        print("told", os.environ["OF_THIS_MOMENT"], os.getcwd(), time.tzname[0], flush=True)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ForkedProcess]:
    server = FORK_CLIENT.fork(wanted(tmp_path))
    assert started(server)
    yield server
    server.kill()
    ended(server)


def test_who_is_told_to_end_ends_in_order(server: ForkedProcess) -> None:
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


def test_who_is_killed_has_the_signal_as_status(server: ForkedProcess) -> None:
    """As a process that Python has started itself."""
    server.kill()

    assert server.wait(WAIT_S) == -signal.SIGKILL


def test_it_has_what_the_test_has_at_this_moment(tmp_path: Path, server: ForkedProcess) -> None:
    """Environment, folder, time zone and modules: the process that forks was there before them."""
    assert is_there(server.pid)
    (tmp_path / "telling_module.py").write_text(TELLS, encoding="utf-8")
    asked = wanted(
        tmp_path, authorizer_class_name="telling_module.Telling", doorkeeper_data_dir="other"
    )
    asked.environment["TZ"] = "XYZ-3"
    telling = FORK_CLIENT.fork(asked)

    lines = started(telling)
    telling.terminate()

    assert ended(telling) == 0
    assert f"told now {tmp_path} XYZ\n".encode() in lines
