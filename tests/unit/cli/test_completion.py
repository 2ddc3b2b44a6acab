"""``doorkeeper completion``."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import click
import pytest
from click.shell_completion import BashComplete, get_completion_class
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.cli.completion import (
    JoinedBash,
    files_behind,
    join_at_colons,
    one_of,
    several_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


CONTEXT = click.Context(click.Command("any"))
PARAMETER = click.Option(["--any"])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_reads_it(shell: str) -> None:
    """Its own parser finds no fault."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not on this machine")
    script = CliRunner().invoke(doorkeeper, ["completion", shell]).stdout

    done = subprocess.run(
        [program, "-n"], input=script, capture_output=True, text=True, check=False, timeout=60
    )

    assert (done.returncode, done.stderr) == (0, "")


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


def parameters(command: click.Command, *words: str) -> Iterator[tuple[str, click.Parameter]]:
    """Yield each parameter of each command, with the words of the command."""
    if not isinstance(command, click.Group):
        yield from ((" ".join(words), each) for each in command.params)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        member = command.get_command(context, name)
        assert member is not None
        yield from parameters(member, *words, name)


OF_FILES = {"wanted", "address", "left", "right", "file", "folder", "target", "source"}
"""Arguments that name files."""
OF_STORES = {"store", "source", "target"}
"""Options whose addresses are those of stores."""


def names_a_file(parameter: click.Parameter) -> bool:
    if isinstance(parameter, click.Option):
        metavar = parameter.metavar or ""
        is_store = metavar == "ADDRESS" and parameter.name in OF_STORES
        return is_store or any(each in metavar.split("|") for each in ("FILE", "OUT", "FOLDER"))
    return parameter.name in OF_FILES


def test_parameters_that_name_files_are_completed_by_the_shell() -> None:
    """In every command, so that none is forgotten."""
    naming = [(words, each) for words, each in parameters(doorkeeper) if names_a_file(each)]

    for words, parameter in naming:
        [item] = parameter.shell_complete(click.Context(click.Command(words)), "wan")
        assert (item.type, item.value) == ("file", "wan"), (words, parameter.name)
    assert len(naming) > 60


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in a folder with some files."""
    (tmp_path / "s2" / "deep").mkdir(parents=True)
    (tmp_path / "s2" / "deep" / "server.properties").touch()
    for name in ("want.yaml", "server.properties", ".hidden"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
    ],
)
def test_what_bash_has_taken_apart(words: list[str], found: list[str]) -> None:
    """Colons are put between their neighbours; an empty word is one of its own."""
    assert join_at_colons(words) == found


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
