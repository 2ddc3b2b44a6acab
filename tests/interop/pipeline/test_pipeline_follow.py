"""``run --follow`` on Spark, killed and started again: nothing is lost, nothing stands twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from doorkeeper_pipeline.tables import delta
from testkit.load import scaled
from testkit.trail_files import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(600)]

FILES = 12
EVENTS = 250
PATIENCE_S = 120.0


class Follower:
    """A process that follows the trail, in a process group of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        """Start it."""
        command = ["-m", "doorkeeper_pipeline", "run", "--master", "local[2]"]
        command += ["--log", str(folder / "trail"), "--tables", str(folder / "out"), *options]
        self.out = folder / "out"
        with (folder / "stderr").open("ab") as told:
            self._process = subprocess.Popen(
                [sys.executable, *command], start_new_session=True, stderr=told, stdout=told
            )

    def kill(self) -> None:
        """Kill the driver alone, as the kernel would: its JVM lives on for a while."""
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait(scaled(30))

    def kill_group(self) -> None:
        """Kill driver, JVM and workers."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(scaled(30))

    def wait_for(self, files: int) -> None:
        """Wait until so many files are in the tables."""
        deadline_s = time.monotonic() + scaled(PATIENCE_S)
        while len(delta.Tables(self.out).read("files")) < files:
            assert self._process.poll() is None, "the follower has ended"
            assert time.monotonic() < deadline_s, "the follower stands still"
            time.sleep(0.1)

    def ended(self) -> int:
        """Wait for its end and return its status."""
        return self._process.wait(scaled(PATIENCE_S))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    """Return a folder with an empty trail."""
    (tmp_path / "trail").mkdir()
    yield tmp_path
    told = tmp_path / "stderr"
    if told.exists():
        sys.stdout.write(told.read_text()[-4000:])


def numbers(out: Path) -> list[int]:
    """Return the numbers of all events that were read, sorted."""
    names = delta.Tables(out).read("decisions")["resource_name"]
    return sorted(int(name[1:]) for name in names)


def test_killed_follower_loses_nothing(site: Path) -> None:
    written = 0
    for round_number in range(3):
        follower = Follower(site, "--follow", "0.5")
        try:
            for _ in range(FILES // 3):
                write_file(site / "trail", written * EVENTS + 1, EVENTS)
                written += 1
            if round_number == 1:
                follower.wait_for(written - 2)
                follower.kill()
            else:
                follower.wait_for(written - 1)
        finally:
            if round_number != 1:
                follower.kill_group()

    last = Follower(site)
    try:
        assert last.ended() == 0
    finally:
        last.kill_group()

    assert numbers(last.out) == list(range(1, FILES * EVENTS + 1))
    denied = delta.Tables(site / "out").read("denied")
    assert denied["count"].sum() == sum(1 for number in range(1, FILES * EVENTS + 1) if number % 3)


def test_file_is_read_while_running(site: Path) -> None:
    follower = Follower(site, "--follow", "0.5")
    try:
        write_file(site / "trail", 1, EVENTS)
        follower.wait_for(1)
        write_file(site / "trail", EVENTS + 1, EVENTS, compressed=True)
        follower.wait_for(2)
    finally:
        follower.kill_group()

    assert numbers(follower.out) == list(range(1, 2 * EVENTS + 1))
