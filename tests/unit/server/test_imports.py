"""What starting imports: time to the first answer is a promise, and imports are most of it.

Each test starts a fresh interpreter that reports its imports (``-X importtime``).
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

COMMAND_LINE = {"click"}
"""What ``import doorkeeper.cli`` may load from others."""

SERVING = COMMAND_LINE | {
    "apsw",
    "immutables",
    "javaproperties",
    "structlog",
    "uvloop",
    "yaml",
}
"""What ``doorkeeper serve`` may load from others until it answers, and no more."""

OURS = {"doorkeeper", "doorkeeper_wire"}

IMPORTED = re.compile(r"^import time:\s+\d+ \|\s+\d+ \|\s+(\S+)$", re.MULTILINE)
# Python's own site set-up, which happens before the first line of ours.
NOT_OURS_TO_CHOOSE = re.compile(r"^(_?__editable__.*|_virtualenv|_distutils_hack|sitecustomize)$")


def foreign_packages(report: str) -> set[str]:
    """Return the top-level packages of others that a report of ``-X importtime`` names."""
    names = {name.partition(".")[0] for name in IMPORTED.findall(report)}
    known = sys.stdlib_module_names | OURS
    return {name for name in names - known if not NOT_OURS_TO_CHOOSE.match(name)}


def test_the_report_is_understood() -> None:
    """The check sees what is imported: a package of others shows up in the report."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import yaml"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert "yaml" in foreign_packages(run.stderr)


def test_the_command_line_imports_little() -> None:
    """Importing the command line loads click and nothing else of others."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import doorkeeper.cli"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert foreign_packages(run.stderr) <= COMMAND_LINE


def test_serving_imports_a_short_list(tmp_path: Path) -> None:
    """A started server has loaded no pydantic, aiohttp, rich, construct: only a short list."""
    report = tmp_path / "stderr"
    options = ["listeners=PLAINTEXT://localhost:0", f"doorkeeper.data.dir={tmp_path / 'data'}"]
    overrides = [word for option in options for word in ("--override", option)]
    command = [sys.executable, "-X", "importtime", "-m", "doorkeeper", "serve", *overrides]
    with (
        report.open("w", encoding="utf-8") as stderr,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, cwd=tmp_path) as server,
    ):
        assert server.stdout is not None
        first_line = server.stdout.readline()
        server.send_signal(signal.SIGTERM)
        server.stdout.read()

    assert server.returncode == 0
    assert first_line
    assert foreign_packages(report.read_text(encoding="utf-8")) <= SERVING
