"""How commands end that cannot go on: no status says more than it knows."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from doorkeeper_pipeline.cli import main
from doorkeeper_pipeline.cli.failures import report_failures
from doorkeeper_pipeline.tables import contents, delta
from testkit.load import scaled

if TYPE_CHECKING:
    from pathlib import Path

LINE = (
    "[2026-11-22 07:10:00,000] DEBUG Principal = User:{user} is Allowed Operation = Read from"
    " host = h on resource = Topic:LITERAL:{topic} (kafka.authorizer.logger)\n"
)
NOBODY = "version: 1\nacls: []\n"


class Panic(BaseException):
    """What Polars raises when it finds an error in itself."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tables of a history in which something was read."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "a.log").write_text(LINE.format(user="\u4e2d\u6587", topic="t"), encoding="utf-8")
    main_of("run", "--log", folder / "a.log", "--tables", folder / "out", "--min-days", "0")
    return folder / "out"


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    """Return a copy of these tables, beside a set without ACLs."""
    (tmp_path / "nobody.yaml").write_text(NOBODY)
    return shutil.copytree(made, tmp_path / "out")


def main_of(name: str, *arguments: object) -> int:
    """Return the status with which a command ends."""
    with pytest.raises(SystemExit) as end:
        main([name, "--engine", "local", "--quiet", *map(str, arguments)])
    assert isinstance(end.value.code, int)
    return end.value.code


@pytest.mark.parametrize("error", [ValueError("a\nb"), Panic("a"), ModuleNotFoundError(name="x")])
def test_unexpected_error_is_one_line(
    error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end, report_failures():
        raise error

    lines = capsys.readouterr().err.splitlines()
    assert end.value.code == 3
    assert len(lines) == 1
    assert type(error).__name__ in lines[0]
    assert "test_failures.py line" in lines[0]


def test_damaged_table_fails_backtest(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for table in delta.Tables(out).files("distinct_decisions"):
        os.truncate(table, 100)

    status = main_of("backtest", "--tables", out, "--proposal", tmp_path / "nobody.yaml")

    assert status == 3
    assert "Traceback" not in capsys.readouterr().err


def test_closed_output_is_a_failure(out: Path, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "doorkeeper_pipeline", "backtest", "--engine", "local", "-q"),
        *("--tables", str(out), "--proposal", str(tmp_path / "nobody.yaml")),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        told_on_stderr = running.stderr.read()
        running.wait(scaled(60))

    assert running.returncode == 3, told_on_stderr
    assert told_on_stderr == b""


def test_ctrl_c_has_its_own_exit_status(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("doorkeeper_pipeline.jobs.backtest.changes_by", interrupted)

    assert main_of("backtest", "--tables", out, "--proposal", tmp_path / "nobody.yaml") == 130


def test_sigterm_removes_unfinished_files(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undone = []

    def terminated(*_: object) -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        finally:
            undone.append(True)

    monkeypatch.setattr("doorkeeper_pipeline.jobs.backtest.changes_by", terminated)
    before = signal.getsignal(signal.SIGTERM)

    assert main_of("backtest", "--tables", out, "--proposal", tmp_path / "nobody.yaml") == 143
    assert undone == [True]
    assert signal.getsignal(signal.SIGTERM) is before


def test_result_is_printed_before_it_is_stored(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(contents, "write", full)

    assert main_of("backtest", "--tables", out, "--proposal", tmp_path / "nobody.yaml") == 3
    told_then = capsys.readouterr()
    assert "1 decisions (1 distinct, 1 principals) would be denied" in told_then.out
    assert "No space left" in told_then.err


class Interrupted:
    """An import during which Ctrl-C comes."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "doorkeeper_pipeline.cli.commands":
            raise KeyboardInterrupt


def test_ctrl_c_during_an_import(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "doorkeeper_pipeline.cli.commands", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])

    with pytest.raises(SystemExit) as end:
        main(["--help"])

    assert end.value.code == 130
    assert capsys.readouterr().err == "doorkeeper-pipeline: interrupted\n"


def test_closed_output_is_like_the_null_device() -> None:
    program = [sys.executable, "-m", "doorkeeper_pipeline", "completion", "bash"]

    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *program], stderr=subprocess.PIPE, check=False
    )

    assert (done.returncode, done.stderr) == (0, b"")
