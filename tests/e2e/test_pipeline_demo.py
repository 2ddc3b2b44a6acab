"""From real clients at a running server to the report: what ``make pipeline-demo`` shows."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest

from doorkeeper_pipeline.tables import delta
from testkit.checkout import ROOT
from testkit.load import scaled

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_demonstration_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, str(ROOT / "scripts" / "pipeline_demo.py")),
            *("--engine", "local", "--folder", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=scaled(110),
    )

    assert done.returncode == 0, done.stdout + done.stderr
    denied = delta.Tables(tmp_path / "tables").read("denied")
    assert "User:intruder" in denied["principal"].to_list()
    usage = delta.Tables(tmp_path / "tables").read("grant_usage")
    unused = usage.filter(~pl.col("used"))["resource_name"].to_list()
    assert "legacy." in unused
    assert "newly forbids 0 decisions" in done.stdout
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "User:intruder" in page
    assert (
        done.stdout.splitlines()[-1] == f"pipeline-demo: open {(tmp_path / 'report.html').as_uri()}"
    )
