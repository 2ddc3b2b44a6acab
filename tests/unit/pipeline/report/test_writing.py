"""From the tables of an output folder to a file."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from doorkeeper_pipeline.errors import PipelineError, Unreadable
from doorkeeper_pipeline.report.model import About
from doorkeeper_pipeline.report.writing import SHOWN, frames_in, write
from doorkeeper_pipeline.tables import delta
from doorkeeper_pipeline.tables.delta import Change, Tables
from testkit.report_tables import small_tables, table_of

ABOUT = About(made=datetime(2026, 11, 8, tzinfo=UTC))


def filled(folder: Path, *, acls: bool = True) -> Path:
    """Write all tables of a world into a folder."""
    change = Change(Tables(folder))
    for name, frame in small_tables().items():
        change.replace(name, frame.collect())
    change.replace("bindings", table_of("bindings", [{}] if acls else []).collect())
    change.commit()
    return folder


def test_report_shows_all_tables(tmp_path: Path) -> None:
    tables = filled(tmp_path / "tables")

    report = write(tables, tmp_path / "report.html", ABOUT)

    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert set(frames_in(tables)) == set(SHOWN)
    assert [section.missing for section in report.sections] == [""] * 9
    assert text.startswith("<!doctype html>")
    assert "2,000" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "tables"]


def test_register_and_data_are_written(tmp_path: Path) -> None:
    tables, register = filled(tmp_path / "tables"), tmp_path / "findings.json"

    write(tables, tmp_path / "r.html", ABOUT, register=register)
    document = json.loads(register.read_text())
    name = next(iter(document["findings"]))
    document["findings"][name] |= {"owner": "team", "accepted_until": "2026-12-31"}
    register.write_text(json.dumps(document))
    report = write(tables, tmp_path / "r.html", ABOUT, register=register, data=tmp_path / "d")

    leads = [each.lead[-1] for each in report.sections if each.id == "decide"]
    assert leads == ["1 finding accepted until a day is left out."]
    assert json.loads(register.read_text()) == document
    assert {path.suffix for path in (tmp_path / "d").iterdir()} == {".csv", ".jsonl"}
    assert len(list((tmp_path / "d").iterdir())) == 2 * len(SHOWN)


def test_report_without_acls_has_no_grants(tmp_path: Path) -> None:
    report = write(filled(tmp_path / "tables", acls=False), tmp_path / "report.html", ABOUT)

    assert report.figures[2].remark == "no set of ACLs was given"


def test_folder_without_tables_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"no tables here; doorkeeper-pipeline run --tables"):
        write(tmp_path, tmp_path / "report.html", ABOUT)

    assert list(tmp_path.iterdir()) == []


def test_damaged_table_keeps_the_old_report(tmp_path: Path) -> None:
    tables = filled(tmp_path / "tables")
    Path(*delta.Tables(tables).files("denied")).write_bytes(b"PAR1 no more")
    (tmp_path / "report.html").write_text("old")

    with pytest.raises(Unreadable, match="tables"):
        write(tables, tmp_path / "report.html", ABOUT)

    assert (tmp_path / "report.html").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
