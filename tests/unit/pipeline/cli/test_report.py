"""``doorkeeper-pipeline report``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper_pipeline.cli.commands import pipeline
from doorkeeper_pipeline.errors import Conflicting
from testkit.pipeline_runs import confluent_event

if TYPE_CHECKING:
    from pathlib import Path


def test_wrong_usage(tmp_path: Path) -> None:
    """A folder that is not there and a number of rows that no browser bears are refused."""
    runner = CliRunner()
    to = ["--out", str(tmp_path / "r.html")]

    missing = runner.invoke(pipeline, ["report", "--tables", str(tmp_path / "none"), *to])
    many = runner.invoke(pipeline, ["report", "--tables", str(tmp_path), *to, "--limit", "1000000"])

    assert missing.exit_code == many.exit_code == 2
    assert "20000" in many.stderr


def test_cluster_is_selected_by_name(tmp_path: Path) -> None:
    log, out, target = tmp_path / "audit.jsonl", str(tmp_path / "out"), tmp_path / "report.html"
    log.write_text(confluent_event("lkc-1", "x") + confluent_event("lkc-2", "y"))
    runner = CliRunner()
    for cluster in ("lkc-1", "lkc-2"):
        run = ["run", "--log", str(log), "--tables", out, "--cluster-name", cluster, "--quiet"]
        assert runner.invoke(pipeline, run).exit_code == 0

    report = ["report", "--tables", out, "--out", str(target), "--data", str(tmp_path / "data")]
    asked = runner.invoke(pipeline, report)
    written = runner.invoke(pipeline, [*report, "--cluster-name", "lkc-2"])

    assert isinstance(asked.exception, Conflicting)
    assert "select one with --cluster-name" in str(asked.exception)
    assert written.exit_code == 0, written.output
    assert "1  to decide, 1 group" in written.stdout
    assert "lkc-2" in target.read_text()
    assert "lkc-1" not in target.read_text()
    for table in ("decisions", "denied"):
        rows = (tmp_path / "data" / f"{table}.jsonl").read_text().splitlines()
        found = [json.loads(row) for row in rows]
        assert [(row["cluster"], row["resource_name"]) for row in found] == [("lkc-2", "y")]
        assert "lkc-2" in (tmp_path / "data" / f"{table}.csv").read_text()
