"""``doorkeeper completion``."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper


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
