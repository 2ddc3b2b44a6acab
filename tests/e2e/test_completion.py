"""The completion scripts in the shells that they are for, as somebody installs them."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

WAIT_S = 60.0
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
    zsh = program("zsh")
    script("zsh", tmp_path / "_doorkeeper")
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(tmp_path)
        os.execve(zsh, ["zsh", "-f", "-i"], environment)
    try:
        os.write(terminal, ZSH.encode())
        read_until(b"ready\r", terminal)
        os.write(terminal, b"doorkeeper acls expl\t")
        read_until(b"doorkeeper acls explain ", terminal)
    finally:
        os.close(terminal)  # which ends the shell
        os.waitpid(pid, 0)


def read_until(wanted: bytes, terminal: int) -> None:
    """Read what a terminal shows until this is there."""
    deadline_s = time.monotonic() + WAIT_S
    shown = b""
    while wanted not in shown:
        left_s = deadline_s - time.monotonic()
        assert left_s > 0, f"found {shown!r}; expected {wanted!r}"
        if select.select([terminal], [], [], left_s)[0]:
            shown += os.read(terminal, 4096)
