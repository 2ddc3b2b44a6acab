"""``doorkeeper completion``."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import click
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell: str) -> None:
    """It asks our program by its variable."""
    result = CliRunner().invoke(doorkeeper, ["completion", shell])

    assert (result.exit_code, result.stderr) == (0, "")
    assert f"_DOORKEEPER_COMPLETE={shell}_complete" in result.stdout


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


def test_another_shell_is_wrong_usage() -> None:
    """The allowed ones are named."""
    result = CliRunner().invoke(doorkeeper, ["completion", "csh"])

    assert result.exit_code == 2
    assert "fish" in result.stderr


def completed(*words: str) -> list[str]:
    *before, last = words
    shell = BashComplete(doorkeeper, {}, "doorkeeper", "_DOORKEEPER_COMPLETE")
    return [each.value for each in shell.get_completions(list(before), last)]


def test_words_are_completed() -> None:
    """Commands, options, and operations as kafka-acls.sh writes them."""
    assert completed("ac") == ["acls"]
    assert completed("acls", "expl") == ["explain"]
    assert completed("acls", "explain", "--prin") == ["--principal"]
    assert completed("acls", "explain", "--operation", "desc") == [
        "Describe",
        "DescribeConfigs",
        "DescribeTokens",
    ]
    assert completed("acls", "lint", "--output", "j") == ["json"]
    assert completed("acls", "add", "--operation", "al") == ["All", "Alter", "AlterConfigs"]
    assert completed("acls", "add", "--resource-pattern-type", "PRE") == ["prefixed"]
    assert completed("acls", "export", "--own-type", "tr") == ["transactional_id"]
    assert completed("acls", "lint", "--select", "E001,e00")[:2] == ["E001,E001", "E001,E002"]


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


OF_FILES = {"wanted", "place", "left", "right", "file", "folder", "target", "source"}
"""What the arguments are called that name files."""


def names_a_file(parameter: click.Parameter) -> bool:
    if isinstance(parameter, click.Option):
        metavar = parameter.metavar or ""
        return any(each in metavar.split("|") for each in ("FILE", "OUT", "FOLDER", "STORE"))
    return parameter.name in OF_FILES


NAMING = [
    pytest.param(words, each, id=f"{words} {each.opts[0]}")
    for words, each in parameters(doorkeeper)
    if names_a_file(each)
]


def test_many_parameters_name_files() -> None:
    """They are found."""
    assert len(NAMING) > 60


@pytest.mark.parametrize(("words", "parameter"), NAMING)
def test_what_names_a_file_is_completed_by_the_shell(
    words: str, parameter: click.Parameter
) -> None:
    """In every command, so that none is forgotten."""
    context = click.Context(click.Command(words))

    [found] = parameter.shell_complete(context, "wan")

    assert (found.type, found.value) == ("file", "wan")
