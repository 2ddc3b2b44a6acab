"""``doorkeeper serve``: what is wrong before anything is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.server.app.errors import StartError

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_authorizer_is_looked_at_beside_wrong_keys(tmp_path: Path) -> None:
    """Its problems are told in the same round, with file and line."""
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=x\nauthorizer.class.name=com.example.Rules\n")

    result = CliRunner().invoke(doorkeeper, ["serve", "--config", str(file)])

    first, second = result.stderr.splitlines()
    assert first.startswith(f"doorkeeper: {file} line 1: num.partitions: ")
    assert second.startswith(f"doorkeeper: {file} line 2: authorizer.class.name=com.example.")


def test_a_start_that_fails_is_told_in_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each problem of a StartError is a line on stderr."""

    def serve(*_arguments: object) -> None:
        raise StartError("one", "two")

    monkeypatch.setattr("doorkeeper.server.app.process.serve", serve)

    result = CliRunner().invoke(doorkeeper, ["serve"])

    assert result.exit_code == 1
    assert result.stderr == "doorkeeper: one\ndoorkeeper: two\n"
