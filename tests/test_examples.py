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


def test_the_unit_keeps_passwords_from_other_users() -> None:
    """They are in a file of root's alone, which systemd hands on; the manager is notified."""
    text = UNIT.read_text(encoding="utf-8")

    assert "-m 0600 kafka.jaas /etc/doorkeeper/kafka.jaas" in text
    for line in (
        "Type=notify",
        "LoadCredential=kafka.jaas:/etc/doorkeeper/kafka.jaas",
        "Environment=DOORKEEPER_JAAS_FILE=%d/kafka.jaas",
    ):
        assert line in text.splitlines()
