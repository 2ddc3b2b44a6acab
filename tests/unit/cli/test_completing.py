"""What words may become."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest
from click.shell_completion import get_completion_class

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.cli.completing import (
    JoinedBash,
    LastingZsh,
    files,
    files_behind,
    joined,
    one_of,
    several_of,
)

if TYPE_CHECKING:
    from pathlib import Path

CONTEXT = click.Context(click.Command("any"))
PARAMETER = click.Option(["--any"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in a folder with some files."""
    (tmp_path / "s2" / "deep").mkdir(parents=True)
    (tmp_path / "s2" / "deep" / "server.properties").touch()
    for name in ("want.yaml", "server.properties", ".hidden"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_is_the_shells() -> None:
    """It is told so."""
    [found] = files(CONTEXT, PARAMETER, "wan")

    assert (found.type, found.value) == ("file", "wan")


def test_values_in_any_case() -> None:
    """They are written as they are given; with commas between, each part is completed."""
    complete, parts = one_of(["Read", "Write"]), several_of(["E001", "W001"])

    assert [each.value for each in complete(CONTEXT, PARAMETER, "re")] == ["Read"]
    assert [each.value for each in parts(CONTEXT, PARAMETER, "E001,w")] == ["E001,W001"]
    assert [each.value for each in parts(CONTEXT, PARAMETER, "")] == ["E001", "W001"]


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("config:", ["s2/deep/server.properties", "server.properties", "want.yaml"]),
        ("config:ser", ["server.properties"]),
        ("config:.h", [".hidden"]),
        ("config:s2", ["s2/deep/server.properties"]),
        ("config:{folder}/w", ["{folder}/want.yaml"]),
        ("config:none/x", []),
    ],
)
def test_files_behind_a_prefix(folder: Path, word: str, found: list[str]) -> None:
    """A folder is no end of a word: what it holds is told where it is the only one."""
    if word == "config:":
        found = ["s2/", *found[1:]]

    items = files_behind("config:", word.format(folder=folder))

    expected = [f"config:{each.format(folder=folder)}" for each in found]
    assert sorted(each.value for each in items) == sorted(expected)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["a", "b"], ["a", "b"]),
        (["User", ":", "alice", "x"], ["User:alice", "x"]),
        (["kafka", ":", "//h", ":", "1"], ["kafka://h:1"]),
        (["config", ":"], ["config:"]),
        (["config", ":", ""], ["config:", ""]),
        (["User", ":", "", "x"], ["User:", "", "x"]),
        ([":", "a"], [":a"]),
    ],
)
def test_what_bash_has_taken_apart(words: list[str], found: list[str]) -> None:
    """Colons are put between their neighbours; an empty word is one of its own."""
    assert joined(words) == found


def bash(monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """Return what bash is told for the words of a line, as it takes them apart."""
    monkeypatch.setenv("COMP_WORDS", "\n".join(("doorkeeper", *words)))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    return JoinedBash(doorkeeper, {}, "doorkeeper", "_DOORKEEPER_COMPLETE").complete().split("\n")


def test_bash_gets_what_it_replaces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is what follows the last colon; with names of files it goes on itself."""
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


def test_zsh_completes_the_second_word_too() -> None:
    """Its script knows when it is a function that runs again, as Click's does not."""
    assert get_completion_class("zsh") is LastingZsh
    assert "$zsh_eval_context[-1] == (loadautofunc|shfunc) ]]" in LastingZsh.source_template
