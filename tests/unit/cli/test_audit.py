"""``doorkeeper audit verify`` and ``tail``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from testkit.trails import line_of, written

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def run(*words: object) -> Result:
    return CliRunner().invoke(doorkeeper, ["audit", *(str(word) for word in words)])


def events(folder: Path, *changes: dict[str, Any]) -> None:
    """Write events of some kinds into the open file."""
    lines = [
        json.dumps({**json.loads(line_of(seq)), **change}).encode() + b"\n"
        for seq, change in enumerate(changes, 1)
    ]
    written(folder, 1, 0, closed=False, tail=b"".join(lines))


def numbers(result: Result) -> list[int]:
    return [json.loads(line)["seq"] for line in result.stdout.splitlines()]


def test_a_whole_trail(tmp_path: Path) -> None:
    """Status 0, which events there are, and that nothing is missing."""
    written(tmp_path, 3, 2, compressed=True)

    result = run("verify", tmp_path)

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "node 1: events 3 to 4",
        "1 files; 2 events: 2 login",
        f"{tmp_path}: the audit log is complete",
    ]


def test_a_trail_with_a_gap(tmp_path: Path) -> None:
    """Status 1, and where what is missing; as JSON too."""
    written(tmp_path, 1, 1)
    written(tmp_path, 3, 1, closed=False)

    text, found = run("verify", tmp_path), run("verify", tmp_path, "--output", "json")

    assert (text.exit_code, found.exit_code) == (1, 1)
    assert "gap: audit-1-000000000003.jsonl.open line 1: event 2 is missing" in text.stdout
    assert "1 being written" in text.stdout
    assert json.loads(found.stdout)["problems"][0]["kind"] == "gap"


@pytest.mark.parametrize("command", [("verify",), ("tail", "--no-follow")])
def test_a_folder_that_is_not_there(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Status 1 and a line that names it."""
    result = run(*command, tmp_path / "none")

    assert result.exit_code == 1
    assert result.stderr == f"doorkeeper: {tmp_path / 'none'}: No such file or directory\n"


def test_filters(tmp_path: Path) -> None:
    """Each filter must be met, by one of its values; a change by any of its names."""
    acl = {"resource_name": "orders"}
    events(
        tmp_path,
        {"kind": "decision", "outcome": "DENIED", "principal": "User:a", "resource_name": "t"},
        {"kind": "decision", "outcome": "ALLOWED", "principal": "User:a", "resource_name": "u"},
        {"kind": "decision", "outcome": "DENIED", "principal": "User:b", "resource_name": "u"},
        {"kind": "change", "principal": "User:b", "added": [], "removed": [acl]},
        {"kind": "change", "principal": "User:b", "items": [{"name": "bob"}]},
    )

    def found(*filters: str) -> list[int]:
        return numbers(run("tail", tmp_path, "--no-follow", "--output", "json", *filters))

    assert found("--outcome", "denied") == [1, 3]
    assert found("--outcome", "denied", "--principal", "User:a") == [1]
    assert found("--principal", "User:a", "--principal", "User:b", "-n", "2") == [4, 5]
    assert found("--kind", "change", "--resource", "orders") == [4]
    assert found("--resource", "bob", "--resource", "u") == [2, 3, 5]


def test_names_move_no_cursor(tmp_path: Path) -> None:
    """What clients have named is printed as an escape; there is no colour where nobody looks."""
    events(tmp_path, {"kind": "odd\x1b[2J", "time": "T", "what": ["a\nb"]})

    result = run("tail", tmp_path, "--no-follow")

    assert result.exit_code == 0
    assert result.stdout == "T ODD\\X1B[2J what=['a\\\\nb']\n"


def test_what_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for what comes, from file to file, until it is interrupted."""
    path = written(tmp_path, 1, 1, closed=False)
    steps = iter(["more", "closed", "end"])

    def sleep(_seconds: float) -> None:
        step = next(steps)
        if step == "more":
            with path.open("ab") as file:
                file.write(line_of(2))
        elif step == "closed":
            path.unlink()
            written(tmp_path, 1, 2, compressed=True)
            written(tmp_path, 3, 1, closed=False)
        else:
            raise KeyboardInterrupt

    monkeypatch.setattr("doorkeeper.cli.audit.time.sleep", sleep)

    result = run("tail", tmp_path, "--output", "json")

    assert numbers(result) == [1, 2, 3]
    assert result.exit_code == 130


def test_json_moves_no_cursor(tmp_path: Path) -> None:
    """Names come from clients: what does not print is an escape in JSON too, and means the same."""
    name = "\x9b2J\u202e\u00e9\U0001f600\u2028"
    events(tmp_path, {"resource_name": name})

    line = run("tail", tmp_path, "--no-follow", "--output", "json").stdout

    assert line.removesuffix("\n").isprintable()
    assert "\u00e9" in line
    assert json.loads(line)["resource_name"] == name
