"""``maintain`` as a person meets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper_pipeline.cli.commands import pipeline
from testkit.pipeline_runs import Output, record

if TYPE_CHECKING:
    from pathlib import Path


def maintain(out: Path | str, *options: str) -> tuple[int, list[str], str]:
    """Return status, lines and stderr."""
    done = CliRunner().invoke(pipeline, ["maintain", "--quiet", "--tables", str(out), *options])
    return done.exit_code, done.stdout.splitlines(), done.stderr


def test_summary_of_maintenance(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(record("x") + record("y", user="bob"))
    Output(tmp_path / "out", str(log)).run()

    status, lines, _ = maintain(tmp_path / "out", "--keep", "40000", "--forget", "User:bob")

    assert status == 0
    assert lines[0].endswith(": no rows removed")
    assert lines[1].startswith("User:bob: ")
    assert "decisions 1, " in lines[1]
    assert [line.partition(":")[0] for line in lines[2:]] == [
        "0 unused files deleted",
        (
            f"{lines[3].split()[0]} files of earlier versions still contain the removed rows;"
            " maintain deletes them 168 hours after they were replaced (--vacuum-hours)"
        ),
        "the next run rebuilds the summaries",
        "the logs are unchanged",
    ]
    status, lines, _ = maintain(tmp_path / "out", "--vacuum-hours", "0")
    assert (status, len(lines)) == (0, 1)
    assert not lines[0].startswith("0 ")


def test_invalid_requests_are_rejected(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(record("x"))
    Output(tmp_path / "out", str(log)).run()

    for out, options, text in (
        (tmp_path / "out", ("--forget", "User:bob"), "'User:bob' is not in any table of"),
        (tmp_path / "out", ("--forget", "bob"), "expected: a principal such as User:alice"),
        ("s3a://bucket/access", ("--vacuum-hours", "1"), "in an object store: 24"),
    ):
        done = CliRunner(catch_exceptions=True).invoke(
            pipeline, ["maintain", "--quiet", "--tables", str(out), *options]
        )
        told = f"{done.stderr}{done.exception}"
        assert done.exit_code != 0
        assert text in " ".join(told.split())
