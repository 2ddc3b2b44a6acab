"""The stream on Spark, killed and started again: nothing is lost, nothing stands twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import polars as pl
import pytest

from doorkeeper_pipeline.streaming.batches import Batches
from testkit.load import scaled
from testkit.trail_files import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(600)]

FILES = 12
EVENTS = 250
PATIENCE_S = 120.0


class Stream:
    """A stream in a process group of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        """Start it."""
        command = ["-m", "doorkeeper_pipeline", "stream", "--master", "local[2]"]
        command += ["--interval", "0.5", "--audit", str(folder / "trail")]
        command += ["--out", str(folder / "out"), *options]
        self.batches = Batches(folder / "out")
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
        """Wait until so many files are in batches."""
        deadline_s = time.monotonic() + PATIENCE_S
        while len(self.batches.file_names()) < files:
            assert self._process.poll() is None, "the stream has ended"
            assert time.monotonic() < deadline_s, "the stream stands still"
            time.sleep(0.1)

    def ended(self) -> int:
        """Wait for its end and return its status."""
        return self._process.wait(PATIENCE_S)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    """Return a folder with an empty trail."""
    (tmp_path / "trail").mkdir()
    yield tmp_path
    told = tmp_path / "stderr"
    if told.exists():
        sys.stdout.write(told.read_text()[-4000:])


def numbers(batches: Batches) -> list[int]:
    """Return the numbers of all events that were read, sorted."""
    names = pl.read_parquet(batches.decisions())["resource_name"]
    return sorted(int(name[1:]) for name in names)


def test_killed_again_and_again(site: Path) -> None:
    """Killed at moments that nobody chose, all events are there once at the end."""
    written = 0
    for round_number in range(3):
        stream = Stream(site)
        try:
            for _ in range(FILES // 3):
                write_file(site / "trail", written * EVENTS + 1, EVENTS)
                written += 1
            if round_number == 1:
                stream.wait_for(written - 2)
                stream.kill()
            else:
                stream.wait_for(written - 1)
        finally:
            if round_number != 1:
                stream.kill_group()

    last = Stream(site, "--once")
    try:
        assert last.ended() == 0
    finally:
        last.kill_group()

    assert numbers(last.batches) == list(range(1, FILES * EVENTS + 1))
    denied = pl.read_parquet(site / "out" / "stream" / "denied" / "denied.parquet")
    assert denied["count"].sum() == sum(1 for number in range(1, FILES * EVENTS + 1) if number % 3)


def test_a_file_is_readable_while_it_runs(site: Path) -> None:
    """Once Spark runs, a finished file is in the tables without anything being started or ended."""
    stream = Stream(site)
    try:
        write_file(site / "trail", 1, EVENTS)
        stream.wait_for(1)
        write_file(site / "trail", EVENTS + 1, EVENTS, compressed=True)
        stream.wait_for(2)
    finally:
        stream.kill_group()

    assert numbers(stream.batches) == list(range(1, 2 * EVENTS + 1))


def test_an_old_file_is_not_skipped(site: Path) -> None:
    """A restored file that is weeks older than the newest is read too."""
    old = write_file(site / "trail", 1, 5)
    os.utime(old, (1_600_000_000, 1_600_000_000))
    write_file(site / "trail", 6, 5)

    stream = Stream(site, "--once")
    try:
        assert stream.ended() == 0
    finally:
        stream.kill_group()

    assert numbers(stream.batches) == list(range(1, 11))
