"""The completion scripts in the shells that they are for, as somebody installs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testkit.terminals import TAB, WAIT_S, at_terminal

BIN = Path(sys.executable).parent
BASH = """
source "$1"
COMP_WORDS=(doorkeeper acls explain --operation desc)
COMP_CWORD=4
_doorkeeper_completion doorkeeper
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = 'source "$argv[1]"; complete -C "doorkeeper acls explain --operation desc"'
ZSH = 'fpath=("$PWD" $fpath); autoload -Uz compinit; compinit -u -D; echo rea""dy\n'
OPERATIONS = ["Describe", "DescribeConfigs", "DescribeTokens"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which a shell finds our program and no set-up of anybody."""
    path = os.pathsep.join((str(BIN), os.environ["PATH"]))
    return {"PATH": path, "HOME": str(tmp_path), "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def program(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not on this machine (make setup-system installs it)")
    return found


def script(shell: str, path: Path) -> Path:
    """Write the script of a shell as its documentation says."""
    with path.open("wb") as file:
        subprocess.run([BIN / "doorkeeper", "completion", shell], stdout=file, check=True)
    return path


@pytest.mark.parametrize(("shell", "text"), [("bash", BASH), ("fish", FISH)])
def test_a_shell_completes(
    tmp_path: Path, environment: dict[str, str], shell: str, text: str
) -> None:
    """It asks our program, which tells the operations that begin so."""
    words = ["--norc", "-c", text, shell] if shell == "bash" else ["--no-config", "-c", text]
    done = subprocess.run(
        [program(shell), *words, script(shell, tmp_path / "script")],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=WAIT_S,
    )

    assert (done.stdout.split(), done.stderr) == (OPERATIONS, "")


def test_zsh_completes(tmp_path: Path, environment: dict[str, str]) -> None:
    """What is typed, and a tab, becomes the command: the script is found as the help says."""
    script("zsh", tmp_path / "_doorkeeper")
    with at_terminal([program("zsh"), "-f", "-i"], environment, tmp_path) as terminal:
        terminal.type(ZSH.encode())
        terminal.read_until(b"ready\r")
        terminal.type(b"doorkeeper acls expl" + TAB)
        terminal.read_until(b"doorkeeper acls explain ")
