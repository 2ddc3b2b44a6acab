"""An earlier version of this code, from git."""

from __future__ import annotations

import functools
import io
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Final

import pytest

from testkit.checkout import ROOT

COMMIT: Final = "b0373dec"
"""The first commit whose shared store has schema version 1."""


@functools.cache
def previous_version() -> Path:
    """Return a folder with the files of ``COMMIT``; skips where git does not have it."""
    command = ["git", "archive", "--format=tar", COMMIT, "server", "protocol", "tests/testkit"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"git does not have the commit {COMMIT}")
    folder = tempfile.TemporaryDirectory(prefix="doorkeeper-previous-")
    _kept.append(folder)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder.name, filter="data")
    return Path(folder.name)


_kept: Final[list[tempfile.TemporaryDirectory[str]]] = []
"""Deleted when the process ends."""


def environment() -> dict[str, str]:
    """Return the environment of a process that imports the earlier version."""
    folder = previous_version()
    paths = [str(folder / name) for name in ("server", "protocol", "tests")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
