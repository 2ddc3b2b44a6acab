"""The examples are what they say: each is tried as far as this machine can."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from doorkeeper.acls.formats.choosing import Format, read
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


def test_unit_hides_passwords_from_other_users() -> None:
    text = UNIT.read_text(encoding="utf-8")

    assert "-m 0600 kafka.jaas /etc/doorkeeper/kafka.jaas" in text
    for line in (
        "Type=notify",
        "LoadCredential=kafka.jaas:/etc/doorkeeper/kafka.jaas",
        "Environment=DOORKEEPER_JAAS_FILE=%d/kafka.jaas",
    ):
        assert line in text.splitlines()


def test_shelf_of_roles_is_listed() -> None:
    rows = []
    for path in sorted((ROOT / "examples" / "roles").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        head, number = yaml.safe_load(text)["x-learned"], len(list(read(text, Format.YAML)))
        link = f"[{path.name}](../../examples/roles/{path.name})"
        rows.append(f"| {link} | {head['program']} {head['release']} | {number} |")

    page = (ROOT / "docs" / "how-to" / "learn.md").read_text(encoding="utf-8")

    assert [line for line in page.splitlines() if "(../../examples/roles/" in line] == rows
