"""scripts/environment: what it says where something is missing, and when it has nothing to do.

Pythons are stand-ins here (shell scripts), so nothing is installed. scripts/temporary-folder too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from testkit.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

TOO_OLD = """#!/bin/sh
case "$2" in *python_version*) echo 3.9.2 ;; *) exit 1 ;; esac
"""
WITHOUT_ENSUREPIP = """#!/bin/sh
case "$2" in *ensurepip*) exit 1 ;; *python_version*) echo 3.12.9 ;; esac
"""
# Makes a virtual environment that holds itself, and claims that all is installed.
WORKING = """#!/bin/sh
case "$*" in
    *python_version*) echo 3.12.9 ;;
    "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cp "$0" "$3/bin/uv" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Give a copy of what the script reads, in a folder whose name holds a space."""
    place = tmp_path / "a checkout"
    for name in ("scripts", "requirements"):
        shutil.copytree(ROOT / name, place / name)
    (place / "server" / "doorkeeper" / "base").mkdir(parents=True)
    for name in ("pyproject.toml", "server/doorkeeper/base/version.py"):
        shutil.copy(ROOT / name, place / name)
    return place


def environment(checkout: Path, set_name: str, **variables: str) -> tuple[int, str]:
    """Run the script with nothing but its own folder of commands, and return status and output."""
    path = os.pathsep.join((str(checkout / "bin"), "/usr/bin", "/bin"))
    run = subprocess.run(
        [checkout / "scripts" / "environment", set_name],
        env={"PATH": path, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return run.returncode, run.stdout


def a_python(checkout: Path, name: str, script: str) -> Path:
    """Put a stand-in for Python first on the path."""
    python = checkout / "bin" / name
    python.parent.mkdir(exist_ok=True)
    python.write_text(script)
    python.chmod(0o755)
    return python


def test_old_python_is_rejected(checkout: Path) -> None:
    python = a_python(checkout, "python3.9", TOO_OLD)

    status, output = environment(checkout, "run", PYTHON=str(python))

    assert status == 1
    assert f"PYTHON={python} is 3.9.2; Doorkeeper needs Python 3.11, 3.12 or 3.13." in output
    assert not (checkout / ".venv").exists()


def test_missing_suitable_python_is_explained(checkout: Path) -> None:
    """Where every Python on the path is too old, the versions that fit are named."""
    for name in ("python3", "python3.13", "python3.12", "python3.11", "python"):
        a_python(checkout, name, TOO_OLD)

    status, output = environment(checkout, "run")

    assert status == 1
    assert "python3 here is 3.9.2" in output
    assert "make PYTHON=/path/to/python3.12" in output


def test_missing_ensurepip_names_the_package(checkout: Path) -> None:
    """Debian splits venv from Python: the missing package is named with its version."""
    a_python(checkout, "python3", WITHOUT_ENSUREPIP)

    status, output = environment(checkout, "test")

    assert status == 1
    assert "apt-get install python3.12-venv" in output
    assert not (checkout / ".venv").exists()


def test_unknown_set_is_rejected(checkout: Path) -> None:
    status, output = environment(checkout, "books")

    assert status == 2
    names = "run, test, check, docs, spark and interop"
    assert f"there are {names}" in output


def test_second_run_does_nothing(checkout: Path) -> None:
    a_python(checkout, "python3", WORKING)

    first = environment(checkout, "run")
    second = environment(checkout, "run")
    with (checkout / "requirements" / "run.txt").open("a") as lock:
        lock.write("# newer\n")
    third = environment(checkout, "run")

    assert first[0] == 0
    assert "making .venv with python3 (3.12.9)" in first[1]
    assert "installing the pinned packages of: build run" in first[1]
    assert second == (0, "")
    assert "installing" in third[1]
    assert "making" not in third[1]


def test_new_version_reinstalls_only_the_project(checkout: Path) -> None:
    a_python(checkout, "python3", WORKING)
    environment(checkout, "run")
    (checkout / "server" / "doorkeeper" / "base" / "version.py").write_text('__version__ = "9"\n')

    status, output = environment(checkout, "run")

    assert status == 0
    assert "installing the pinned packages of: project (" in output


def test_environment_without_its_python_is_recreated(checkout: Path) -> None:
    """Where the environment's Python is gone, that is said and the environment made again."""
    a_python(checkout, "python3", WORKING)
    environment(checkout, "run")
    (checkout / ".venv" / "bin" / "python").unlink()

    status, output = environment(checkout, "run")

    assert status == 0
    assert ".venv is broken" in output
    assert "making .venv" in output


def test_moved_environment_is_recreated(checkout: Path) -> None:
    a_python(checkout, "python3", WORKING)
    environment(checkout, "run")
    moved = checkout.rename(checkout.parent / "moved")

    status, output = environment(moved, "run")

    assert status == 0
    assert f".venv was made in {checkout}" in output
    assert "making .venv" in output


def test_temporary_files_of_tests_go_where_the_user_says() -> None:
    """Else where there is room; in memory, if that has some."""

    def folder(**variables: str) -> str:
        script = ROOT / "scripts" / "temporary-folder"
        return subprocess.check_output(
            [script], env={"PATH": "/usr/bin:/bin", **variables}, text=True
        )

    assert folder(TMPDIR="/of/the/user") == "/of/the/user\n"
    assert folder() in {"/dev/shm\n", "/tmp\n"}
