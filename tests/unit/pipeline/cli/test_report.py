"""``doorkeeper-pipeline report``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper_pipeline.cli.commands import pipeline
from doorkeeper_pipeline.errors import Conflicting
from doorkeeper_pipeline.worlds.shape import SMALL
from doorkeeper_pipeline.worlds.traffic import world_of
from doorkeeper_pipeline.worlds.writing import Log, write_acls, write_log

if TYPE_CHECKING:
    from pathlib import Path

EVENT = (
    '{{"specversion": "1.0", "id": "{name}", "source": "crn://confluent.cloud/kafka={cluster}",'
    ' "type": "io.confluent.kafka.server/authorization", "time": "2026-11-22T07:10:00Z",'
    ' "data": {{"methodName": "kafka.Fetch", "authenticationInfo": {{"principal": "User:1"}},'
    ' "authorizationInfo": {{"granted": false, "operation": "Read", "resourceType": "Topic",'
    ' "resourceName": "{name}"}}}}}}\n'
)


def test_from_a_log_to_a_page(tmp_path: Path) -> None:
    """What run made, report shows: the figures on the terminal, all of it in the file."""
    world = world_of(SMALL)
    write_log(world, tmp_path / "logs", Log(lines=2_000, files=1, bad_every=900))
    acls = write_acls(world, tmp_path / "acls")["yaml"]
    runner = CliRunner()
    out, target = str(tmp_path / "out"), tmp_path / "report.html"
    run = ["run", "--engine", "local", "-q", "--audit", str(tmp_path / "logs"), "--out", out]
    ran = runner.invoke(pipeline, [*run, "--acls", str(acls), "--super-user", "User:admin"])
    assert ran.exit_code == 0, ran.output

    result = runner.invoke(
        pipeline, ["report", "--out", out, "--to", str(target), "--title", "<b>prod</b>"]
    )

    assert result.exit_code == 0, result.output
    assert "          2,000  decisions, by " in result.stdout
    assert f"{target}: " in result.stdout
    text = target.read_text(encoding="utf-8")
    assert "&lt;b&gt;prod&lt;/b&gt;" in text
    assert "2,002 lines of 1 file were read; 1 of them could not be understood" in text


def test_wrong_usage(tmp_path: Path) -> None:
    """A folder that is not there and a number of rows that no browser bears are refused."""
    runner = CliRunner()
    to = ["--to", str(tmp_path / "r.html")]

    missing = runner.invoke(pipeline, ["report", "--out", str(tmp_path / "none"), *to])
    many = runner.invoke(pipeline, ["report", "--out", str(tmp_path), *to, "--rows", "1000000"])

    assert missing.exit_code == many.exit_code == 2
    assert "20000" in many.stderr


def test_one_of_several_clusters(tmp_path: Path) -> None:
    """--cluster selects its decisions; CSV and JSON have its name; without it all are listed."""
    log, out, target = tmp_path / "audit.jsonl", str(tmp_path / "out"), tmp_path / "report.html"
    log.write_text(
        EVENT.format(cluster="lkc-1", name="x") + EVENT.format(cluster="lkc-2", name="y")
    )
    runner = CliRunner()
    for cluster in ("lkc-1", "lkc-2"):
        run = ["run", "--audit", str(log), "--out", out, "--cluster", cluster, "--quiet"]
        assert runner.invoke(pipeline, run).exit_code == 0

    report = ["report", "--out", out, "--to", str(target), "--data", str(tmp_path / "data")]
    asked = runner.invoke(pipeline, report)
    written = runner.invoke(pipeline, [*report, "--cluster", "lkc-2"])

    assert isinstance(asked.exception, Conflicting)
    assert "Choose one by --cluster" in str(asked.exception)
    assert written.exit_code == 0, written.output
    assert "lkc-2" in target.read_text()
    assert "lkc-1" not in target.read_text()
    for table in ("decisions", "denied"):
        rows = (tmp_path / "data" / f"{table}.jsonl").read_text().splitlines()
        found = [json.loads(row) for row in rows]
        assert [(row["cluster"], row["resource_name"]) for row in found] == [("lkc-2", "y")]
        assert "lkc-2" in (tmp_path / "data" / f"{table}.csv").read_text()
