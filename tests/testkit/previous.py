"""The previous version of this code, from git, and processes that run it."""

from __future__ import annotations

import functools
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

import pytest

from testkit.checkout import ROOT
from testkit.load import scaled

COMMIT: Final = "fb9d3c7"
"""The last commit whose shared store has schema version 1."""

FEWER_KINDS: Final = "5e136c3"
"""The last commit of schema version 2 without the kinds feature, offset and resource_config."""


@functools.cache
def previous_version(commit: str = COMMIT) -> Path:
    """Return a folder with the files of the commit; skips where git does not have it."""
    command = ["git", "archive", "--format=tar", commit, "server", "protocol", "tests/testkit"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"git does not have the commit {commit}")
    folder = tempfile.TemporaryDirectory(prefix="doorkeeper-previous-")
    _kept.append(folder)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder.name, filter="data")
    return Path(folder.name)


_kept: Final[list[tempfile.TemporaryDirectory[str]]] = []
"""Deleted when the process ends."""


def environment(commit: str = COMMIT) -> dict[str, str]:
    """Return the environment of a process that imports the previous version."""
    folder = previous_version(commit)
    paths = [str(folder / name) for name in ("server", "protocol", "tests")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def run_previous(script: str, *words: str) -> str:
    """Run Python code with the previous version; return what it printed.

    Raises:
        RuntimeError: it failed; with what it said.

    """
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout
