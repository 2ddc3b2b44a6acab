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
FISH = 'source "$argv[1]"; complete -C "doorkeeper acls explain --operation desc"'
ZSH = 'fpath=("$PWD" $fpath); autoload -Uz compinit; compinit -u -D; echo rea""dy\n'
TYPED = {
    "expl": "ain",
    "plan --own-principal User:alice wan": "t.yaml",
    "apply want.yaml config:s2/ser": "ver.properties",
    "add --operation DescribeT": "okens",
}
"""What is typed, and what a tab adds."""
KILL_LINE = b"\x05\x15"
OPERATIONS = ["Describe", "DescribeConfigs", "DescribeTokens"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which a shell finds our program and no set-up of anybody."""
    path = os.pathsep.join((str(BIN), os.environ["PATH"]))
    kept = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    return kept | {"PATH": path, "HOME": str(tmp_path), "TERM": "dumb", "LC_ALL": "C.UTF-8"}


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


def test_fish_completes(tmp_path: Path, environment: dict[str, str]) -> None:
    """It asks our program for the operations that begin so."""
    written = script("fish", tmp_path / "script")
    words = [program("fish"), "--no-config", "-c", FISH, str(written)]
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, check=True, timeout=WAIT_S
    )
    assert (done.stdout.split(), done.stderr) == (OPERATIONS, "")


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_files_and_values_are_completed(
    tmp_path: Path, environment: dict[str, str], shell: str
) -> None:
    (tmp_path / "s2").mkdir()
    for name in ("want.yaml", "s2/server.properties"):
        (tmp_path / name).touch()
    script(shell, tmp_path / "_doorkeeper")
    words, ready = {
        "bash": (["--norc", "-i"], b'source ./_doorkeeper; echo rea""dy\n'),
        "zsh": (["-f", "-i"], ZSH.encode()),
    }[shell]
    with at_terminal([program(shell), *words], environment, tmp_path) as terminal:
        terminal.type(ready)
        terminal.read_until(b"ready\r")
        for typed, wanted in TYPED.items():
            terminal.type(b"doorkeeper acls " + typed.encode() + TAB)
            terminal.read_until(wanted.encode())
            terminal.type(KILL_LINE)
