"""The examples are what they say: each is tried as far as this machine can."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from testkit.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

UNIT = ROOT / "examples" / "doorkeeper.service"


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    """systemd finds nothing to say about the unit file, given a command that exists."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze on this machine")
    unit = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8")
    unit.write_text(text.replace("/opt/doorkeeper/bin/doorkeeper", sys.executable))

    verdict = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (verdict.returncode, verdict.stderr) == (0, "")
