"""``doorkeeper completion``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.shell_completion import BashComplete, get_completion_class

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.cli.completion import (
    JoinedBash,
    join_at_colons,
)

if TYPE_CHECKING:
    from pathlib import Path


def complete(*words: str) -> list[str]:
    *before, last = words
    shell = BashComplete(doorkeeper, {}, "doorkeeper", "_DOORKEEPER_COMPLETE")
    return [each.value for each in shell.get_completions(list(before), last)]


def test_words_are_completed() -> None:
    """Commands, options, and operations as kafka-acls.sh writes them."""
    assert complete("ac") == ["acls"]
    assert complete("acls", "expl") == ["explain"]
    assert complete("acls", "explain", "--prin") == ["--principal"]
    assert complete("acls", "explain", "--operation", "desc") == [
        "Describe",
        "DescribeConfigs",
        "DescribeTokens",
    ]
    assert complete("acls", "lint", "--output", "j") == ["json"]
    assert complete("acls", "add", "--operation", "al") == ["All", "Alter", "AlterConfigs"]
    assert complete("acls", "add", "--resource-pattern-type", "PRE") == ["prefixed"]
    assert complete("acls", "export", "--own-type", "tr") == ["transactional_id"]
    assert complete("acls", "lint", "--select", "E001,e00")[:2] == ["E001,E001", "E001,E002"]


"""Arguments that name files."""
"""Options whose addresses are those of stores."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in a folder with some files."""
    (tmp_path / "s2" / "deep").mkdir(parents=True)
    (tmp_path / "s2" / "deep" / "server.properties").touch()
    for name in ("want.yaml", "server.properties", ".hidden"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["a", "b"], ["a", "b"]),
        (["User", ":", "alice", "x"], ["User:alice", "x"]),
        (["kafka", ":", "//h", ":", "1"], ["kafka://h:1"]),
        (["config", ":"], ["config:"]),
        (["config", ":", ""], ["config:", ""]),
        (["User", ":", "", "x"], ["User:", "", "x"]),
    ],
)
def test_bash_words_are_joined_at_colons(words: list[str], found: list[str]) -> None:
    assert join_at_colons(words) == found


def bash(monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """Return what bash is told for the words of a line, as it takes them apart."""
    monkeypatch.setenv("COMP_WORDS", "\n".join(("doorkeeper", *words)))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    return JoinedBash(doorkeeper, {}, "doorkeeper", "_DOORKEEPER_COMPLETE").complete().split("\n")


def test_bash_completion_returns_the_part_after_the_colon(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = ("acls", "plan")

    assert get_completion_class("bash") is JoinedBash
    assert bash(monkeypatch, *plan, "wan") == ["file,wan"]
    assert bash(monkeypatch, *plan, "--own-principal", "User", ":", "a", "wan") == ["file,wan"]
    assert bash(monkeypatch, *plan, "want.yaml", "config", ":", "ser") == ["file,"]
    assert bash(monkeypatch, *plan, "want.yaml", "config", ":") == ["file,"]
    assert bash(monkeypatch, *plan, "want.yaml", "config:ser") == ["plain,config:server.properties"]
    assert bash(monkeypatch, "acls", "add", "--operation", "Des")[0] == "plain,Describe"
    assert bash(monkeypatch, "acls", "add", "--operation", "x", ":", "D") == [""]
    assert folder.exists()
