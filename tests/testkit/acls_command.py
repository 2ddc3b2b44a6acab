"""``doorkeeper acls`` as somebody runs it in a folder, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TIME_OUT_S = 60


def acls(folder: Path, *words: str) -> tuple[int, str, str]:
    """Run the command; return its status, and what it wrote on stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "doorkeeper", "acls", *words],
        cwd=folder,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=TIME_OUT_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
