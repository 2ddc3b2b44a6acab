"""The stream, as a command."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper_pipeline.cli.commands import pipeline
from doorkeeper_pipeline.cli.stream import waiting
from doorkeeper_pipeline.streaming.batches import Batches
from testkit.trail_files import write_file

if TYPE_CHECKING:
    from pathlib import Path


def test_once_without_a_jvm(tmp_path: Path) -> None:
    """All finished files are read, and the command ends."""
    (tmp_path / "trail").mkdir()
    write_file(tmp_path / "trail", 1, 4)
    arguments = ["--audit", str(tmp_path / "trail"), "--out", str(tmp_path / "out")]

    done = CliRunner().invoke(pipeline, ["stream", "--engine", "local", "--once", *arguments])

    assert done.exit_code == 0, done.output
    assert "batch 0: 1 files, 4 decisions" in done.stderr
    assert len(Batches(tmp_path / "out").decisions()) == 1


def test_spark_connect_is_refused(tmp_path: Path) -> None:
    """The stream needs a driver of this machine; the address may have a token and is not shown."""
    arguments = ["--audit", str(tmp_path), "--out", str(tmp_path / "out")]
    address = "sc://host:15002/;token=secret"

    done = CliRunner().invoke(pipeline, ["stream", "--master", address, *arguments])

    assert done.exit_code == 2
    assert "found an address of Spark Connect" in done.stderr
    assert "secret" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_signal_ends_the_waiting() -> None:
    """A stream that is told to end does so at once, after the batch that it is in.

    Afterwards signals are again what they were.
    """
    ends = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in ends]
    with waiting() as wait:
        assert wait(0.0)
        os.kill(os.getpid(), signal.SIGTERM)
        assert not wait(30)

    assert [signal.getsignal(number) for number in ends] == before
