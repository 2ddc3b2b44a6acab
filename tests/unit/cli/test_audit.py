"""``doorkeeper audit verify``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from testkit.trails import written

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def run(*words: object) -> Result:
    return CliRunner().invoke(doorkeeper, ["audit", *(str(word) for word in words)])


def test_complete_audit_log(tmp_path: Path) -> None:
    """Status 0, which events there are, and that nothing is missing."""
    written(tmp_path, 3, 2, compressed=True)

    result = run("verify", tmp_path)

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "node 1: events 3 to 4",
        "1 files; 2 events: 2 login",
        f"{tmp_path}: the audit log is complete",
    ]


def test_audit_log_with_a_gap(tmp_path: Path) -> None:
    """Status 1, and where what is missing; as JSON too."""
    written(tmp_path, 1, 1)
    written(tmp_path, 3, 1, closed=False)

    text, found = run("verify", tmp_path), run("verify", tmp_path, "--output", "json")

    assert (text.exit_code, found.exit_code) == (1, 1)
    assert "gap: audit-1-000000000003.jsonl.open line 1: event 2 is missing" in text.stdout
    assert "1 being written" in text.stdout
    assert json.loads(found.stdout)["problems"][0]["kind"] == "gap"


def test_missing_folder_is_reported(tmp_path: Path) -> None:
    """Status 1 and a line that names it."""
    result = run("verify", tmp_path / "none")

    assert result.exit_code == 1
    assert result.stderr == f"doorkeeper: {tmp_path / 'none'}: No such file or directory\n"
