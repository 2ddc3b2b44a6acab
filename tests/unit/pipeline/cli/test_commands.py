"""The command as a person meets it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import chdir
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper_pipeline.cli import main
from doorkeeper_pipeline.cli.commands import COMMANDS, pipeline
from doorkeeper_pipeline.tables import delta
from testkit.load import scaled

if TYPE_CHECKING:
    from pathlib import Path

LINE = (
    "[2026-11-22 07:10:00,000] INFO Principal = User:a is Denied Operation = Read from host = h on"
    " resource = Topic:LITERAL:x (kafka.authorizer.logger)\n"
)


def called(*arguments: str) -> tuple[int, str, str]:
    """Return status, stdout and stderr of a command."""
    result = CliRunner().invoke(pipeline, list(arguments))
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_and_exit_statuses(command: str) -> None:
    status, out, _ = called(command, "--help")

    assert status == 0
    assert f"doorkeeper-pipeline {command}" in out
    assert "Exit status" in out


def test_run_writes_tables_from_files(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(LINE + "bad\n")
    arguments = ["run", "--engine", "local", "--log", str(tmp_path / "a.log"), "--tables"]

    status, out, err = called(*arguments, str(tmp_path / "out"))

    assert status == 0, err
    assert "1 files read" in out
    assert "1 in quarantine" in out
    assert err == ""
    assert len(delta.Tables(tmp_path / "out").read("decisions")) == 1
    _, out, err = called(*arguments, str(tmp_path / "out"), "--quiet", "--output", "json")
    assert json.loads(out)["run"]["files_unchanged"] == 1
    assert json.loads(out)["evidence"]["doubtful_principals"] == []
    assert err == ""


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        ("run --log no-such", 3, "no-such: no such file"),
        ("run", 2, "--log is missing, and"),
        ("run --zone Mars/Olympus", 2, "Europe/Prague"),
        ("run --since lately", 2, "2026-11-22"),
        ("run --engine abacus", 2, "abacus"),
        ("run --master local[2]", 2, "--master local[2] requires --engine spark"),
        ("run --conf spark.a=1", 2, "--conf and --packages require"),
        (f"run --log . --command-config {__file__}", 2, "--command-config requires a topic"),
        ("run --log s3a://bucket/logs", 2, "the local engine supports local paths"),
        ("propose --tables file:/tmp/x", 2, "expected: a local folder"),
        ("run --engine spark --conf spark.executor.memory", 2, "found 'spark.executor.memory'"),
        ("run --engine spark --conf memory=4g", 2, "such as spark.executor.memory=4g"),
        ("rn", 2, "No such command 'rn'"),
        ("run --log . --follow 0", 2, "'--follow': 0.0 is not in the range 0.1<=x<=86400"),
        ("run --log . --follow inf", 2, "'--follow': inf is not in the range 0.1<=x<=86400"),
        ("run --log . --min-days nan", 2, "found 'nan'; expected: a number"),
        ("run --log . --max-quarantined nan", 2, "found 'nan'; expected: a number"),
        ("run --log . --since 0001-01-01T00:00+14:00", 2, "expected: a date or time such as"),
        ("run --log . --cluster-name \udcff", 2, "found '\\udcff'; expected: UTF-8"),
        ("run --log . --super-user User:\udcff", 2, "found 'User:\\udcff'; expected: UTF-8"),
        ("run --log . --tables=", 2, "found an empty name; expected: a folder"),
        ("run --log=", 3, "found an empty name; expected: a file, a folder, or a pattern"),
        ("maintain --keep 1000000000", 2, "'--keep': 1000000000 is not in the range"),
        ("why --examples 100000000000000000000", 2, "is not in the range 0<=x<=10000"),
        ("propose --out a.xml", 3, "a.xml: found no format for that name; allowed: .yaml"),
        ("propose --out no/a.csv", 3, "a.csv: no folder no"),
        ("report --out no/r.html", 3, "r.html: no folder no"),
        ("propose --out a.json --changes ./a.json", 2, "a.json: found twice; expected: two files"),
        ("report --out r --ocsf r", 2, "r: found twice; expected: two files"),
        ("maintain --forget User:\udcff", 2, "found 'User:\\udcff'; expected: UTF-8"),
    ],
)
def test_wrong_usage_and_failures(
    tmp_path: Path, arguments: str, status: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong is told in a line, with the status that the help names."""
    name, *others = arguments.split()
    engine = [] if name == "report" else ["--engine", "local"]
    (tmp_path / "out").mkdir()
    with pytest.raises(SystemExit) as end, chdir(tmp_path):
        main([name, *engine, "--tables", "out", *others])

    told = capsys.readouterr().err
    assert end.value.code == status
    assert text in told
    assert "Traceback" not in told
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


@pytest.mark.parametrize("text", ["", LINE.replace("2026", "2126")])
def test_insufficient_log_is_warned_about(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.log").write_text(text)

    status, out, _ = called("run", "--log", str(tmp_path), "--tables", str(tmp_path / "out"))

    assert status == 4
    assert re.search("warning: .*(contain no decisions|is in the future)", out)


WITHOUT_EXTRA = """
import sys
for name in ("numpy", "pandas", "polars", "pyarrow", "pyspark"):
    sys.modules[name] = None
from doorkeeper_pipeline.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["--help"], 0, "backtest"),
        (["run", "--tables", "x"], 3, "pip install 'doorkeeper[pipeline]'"),
    ],
)
def test_missing_extra_is_reported(
    tmp_path: Path, arguments: list[str], status: int, text: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRA, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=scaled(60),
    )

    assert done.returncode == status, done.stderr
    assert text in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
