"""``run --follow``: the tables of a run, kept up to date."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper_pipeline.cli import run
from doorkeeper_pipeline.cli.commands import pipeline
from doorkeeper_pipeline.errors import Busy
from doorkeeper_pipeline.jobs import run as job
from doorkeeper_pipeline.jobs.request import RunRequest, RunSummary, Surroundings
from doorkeeper_pipeline.tables import delta
from testkit.pipeline_runs import record
from testkit.trail_files import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HEADER = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"


def follow(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *looks: Callable[[], object], options: str = ""
) -> tuple[int, list[str], str]:
    """Follow the folder, and call a function before each further look.

    Return status, lines and stderr.
    """

    @contextmanager
    def waiting() -> Iterator[Callable[[float], bool]]:
        left = iter(looks)

        def wait(_: float) -> bool:
            before = next(left, None)
            if before is not None:
                before()
            return before is not None

        yield wait

    monkeypatch.setattr(run, "waiting", waiting)
    words = ["run", "--log", str(folder / "trail"), "--tables", str(folder / "out")]
    done = CliRunner().invoke(pipeline, [*words, "--quiet", "--follow", "1", *options.split()])
    return done.exit_code, done.stdout.splitlines(), done.stderr


@pytest.fixture
def trail(tmp_path: Path) -> Path:
    """Return a folder with one finished file, and one that is still being written."""
    folder = tmp_path / "trail"
    folder.mkdir()
    write_file(folder, 1, 3)
    (folder / "audit-1.jsonl.open").write_text("{")
    return folder


def names(folder: Path) -> list[str]:
    """Return the resources of the decisions, sorted."""
    return sorted(delta.Tables(folder / "out").read("decisions")["resource_name"].to_list())


def test_new_files_are_read(tmp_path: Path, trail: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def second() -> None:
        write_file(trail, 4, 3, compressed=True)

    status, lines, _ = follow(tmp_path, monkeypatch, second, lambda: None)

    assert status == 0
    assert names(tmp_path) == [f"t{number}" for number in range(1, 7)]
    assert lines[-1].endswith(" 1 files, 3 decisions; denied 4, new_access 0")
    assert len(delta.Tables(tmp_path / "out").read("runs")) == 2
    assert delta.Tables(tmp_path / "out").read("denied")["count"].sum() == 4


def test_changed_acls_are_read(
    tmp_path: Path, trail: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = tmp_path / "acls.csv"
    listing.write_text(HEADER + "User:a,TOPIC,LITERAL,t1,READ,ALLOW,*\n")

    def change() -> None:
        listing.write_text(HEADER + "User:b,TOPIC,LITERAL,t1,READ,ALLOW,*\n")

    follow(tmp_path, monkeypatch, change, lambda: None, options=f"--acls {listing}")

    assert trail.exists()
    bindings = delta.Tables(tmp_path / "out").read("bindings")
    assert sorted(bindings["principal"].to_list()) == ["User:a", "User:b"]
    assert len(delta.Tables(tmp_path / "out").read("runs")) == 2


def test_bad_lines_are_quarantined(
    tmp_path: Path, trail: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bad() -> None:
        (trail / "a.log").write_text(record("x") + "bad\n" * 40)

    status, lines, _ = follow(
        tmp_path, monkeypatch, bad, lambda: write_file(trail, 4, 1), options="--output text"
    )

    assert status == 0
    assert "40 lines in quarantine" in lines[-2]
    assert len(names(tmp_path)) == 5


def test_conflicting_writer_is_retried(
    tmp_path: Path, trail: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def busy(request: RunRequest, around: Surroundings) -> RunSummary | None:
        calls.append(request.rebuild)
        if len(calls) == 1:
            raise Busy("another one writes")
        return job._change_tables(request, around, only_news=True)

    monkeypatch.setattr(job, "run_if_new", busy)

    status, _, told = follow(
        tmp_path, monkeypatch, lambda: write_file(trail, 4, 1), lambda: None, options="--rebuild"
    )

    assert status == 0
    assert "another one writes" in told
    assert calls == [False, False]
    assert len(names(tmp_path)) == 4


def test_input_that_is_away_is_read_later(
    tmp_path: Path, trail: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is said once, and again after a look that succeeded."""
    away = tmp_path / "away"

    def leave() -> None:
        trail.rename(away)

    def come() -> None:
        write_file(away, 4, 1)
        away.rename(trail)

    looks = (leave, lambda: None, come, lambda: None, leave, lambda: None)
    status, lines, told = follow(tmp_path, monkeypatch, *looks)

    assert status == 0
    assert told.count("no such file or folder") == 2
    assert lines[-1].endswith(" 1 files, 1 decisions; denied 3, new_access 0")


def test_signal_ends_the_wait() -> None:
    ends = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in ends]
    with run.waiting() as wait:
        assert wait(0.0)
        os.kill(os.getpid(), signal.SIGTERM)
        assert not wait(30)

    assert [signal.getsignal(number) for number in ends] == before
