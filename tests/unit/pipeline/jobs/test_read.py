"""Tasks that read a range of a file."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.jobs.read import ReadTask, read_piece, tasks_of
from doorkeeper_pipeline.sources import reading
from doorkeeper_pipeline.sources.files import identify

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LINE = (
    "[2026-11-22 07:10:00,000] INFO Principal = User:o is Denied Operation = Read from host = h on"
    " resource = Topic:x (kafka.authorizer.logger)\n"
)


def test_log_rotated_while_reading(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(LINE)
    file = identify(log)
    assert file is not None
    (task,) = tasks_of([("id", file)], "UTC", str(tmp_path / "out"))
    log.write_text(LINE + LINE)
    assert read_piece(None, task).decisions == 2

    log.rename(tmp_path / "a.log.1")
    log.write_text(LINE.replace("07:10", "08:10"))

    assert "the file was replaced" in read_piece(None, task).failure


def test_contradicting_collector_time_is_warned_about(tmp_path: Path) -> None:
    log = tmp_path / "a.json"
    lines = ({"@timestamp": "2026-11-21T23:10:00.1Z", "message": LINE} for _ in range(2))
    log.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    file = identify(log)
    assert file is not None

    for zone, hours in (("UTC", ["8:00 h ahead of"]), ("Asia/Shanghai", [])):
        (task,) = tasks_of([("id", file)], zone, str(tmp_path / "out"))
        result = read_piece(None, task)
        assert result.decisions == 2
        assert [each[0].partition("is ")[2][:15] for each in result.warnings] == hours


def test_compressed_file_is_written_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading.blocks, "__defaults__", (0, None, 300))
    monkeypatch.setattr(reading, "UNPACKED_PART_BYTES", 1)
    log = tmp_path / "a.log.gz"
    records = LINE + "bad\n" + LINE * 6 + LINE.replace("07:10", "08:10") + "bad\n"
    log.write_bytes(gzip.compress(records.encode()))
    file = identify(log)
    assert file is not None
    (task,) = tasks_of([("id", file)], "UTC", str(tmp_path / "out"))

    result = read_piece(None, task)

    assert (result.lines, result.decisions, result.quarantined) == (10, 8, 2)
    assert result.days == {"2026-11-22"}
    files = {
        name: [
            tmp_path / "out" / "bronze" / name / each.path
            for each in result.parts
            if each.table == name
        ]
        for name in ("lines", "quarantine")
    }
    assert len(files["lines"]) > 2
    assert pl.read_parquet(files["lines"])["count"].sum() == 8
    offsets = pl.read_parquet(files["quarantine"])["byte_offset"].to_list()
    assert offsets == [len(LINE), len(records) - 4]


def test_failed_file_does_not_stop_others(tmp_path: Path) -> None:
    task = ReadTask(
        file_id="id",
        path=str(tmp_path / "gone"),
        source="trail",
        how="",
        zone="UTC",
        number=0,
        start=0,
        end=None,
        head_bytes=0,
        head_sha256="",
        out=str(tmp_path),
    )

    assert "gone: No such file" in read_piece(None, task).failure
