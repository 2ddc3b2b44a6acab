"""Runs the examples of ``doorkeeper.testing`` as their readers would: pytest, and one library."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

from testkit.checkout import ROOT
from testkit.load import scaled

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = ROOT / "examples" / "testing"
LIMIT_S = 100


def run_example(tests: Path, folder: Path, *packages: Path) -> dict[str, int]:
    """Run tests, with a folder to be in; return how many of them ended how.

    ``packages`` are folders with libraries that our own environment lacks.
    """
    paths = [*sys.path, *map(str, packages)]
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    options = ("-c", "pytest.ini", "-p", "doorkeeper.testing.plugin", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(folder), str(tests)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=scaled(LIMIT_S),
        check=False,
    )
    last = done.stdout.rstrip().rpartition("\n")[2]
    found = {
        outcome: int(count)
        for count, outcome in re.findall(r"(\d+) (passed|failed|error|skipped)", last)
    }
    assert "passed" in found, done.stdout + done.stderr
    return found
