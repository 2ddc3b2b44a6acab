"""All sections as one report."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from doorkeeper_pipeline.report.content import UNKNOWN, report_of
from doorkeeper_pipeline.report.findings import search
from doorkeeper_pipeline.report.model import About
from doorkeeper_pipeline.schemas import TABLES
from testkit.report_tables import BEGIN, small_tables, table_of

ABOUT = About(made=datetime(2026, 11, 8, tzinfo=UTC))


def test_a_world_gives_a_whole_report() -> None:
    """Each section has something, each row as many cells as there are columns, no id twice."""
    report = report_of(small_tables(), ABOUT)

    assert (report.first_day, report.last_day) == (date(2026, 11, 1), date(2026, 11, 7))
    assert [section.missing for section in report.sections] == [""] * 9
    tables = [table for section in report.sections for table in section.tables]
    ids = [section.id for section in report.sections] + [table.id for table in tables]
    assert len(set(ids)) == len(ids)
    for table in tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert len(table.rows) == table.total
    assert [figure.number for figure in report.figures[:1]] == ["2,000"]
    assert {figure.section for figure in report.figures} <= set(ids)


def test_decisions_alone_are_a_report() -> None:
    """Without ACLs the figures about grants are unknown, not zero."""
    report = report_of({"decisions": table_of("decisions", [{"count": 1}])}, ABOUT)

    assert [figure.number for figure in report.figures] == ["1", "0", *[UNKNOWN] * 3]
    assert len(report.sections) == 9


def test_empty_tables_are_a_report_of_nothing() -> None:
    """Each section says that there is nothing; what is not known is not zero."""
    tables = {name: table_of(name, []) for name in TABLES}

    report = report_of(tables, ABOUT)

    leads = {section.id: " ".join(map(str, section.lead)) for section in report.sections}
    assert report.sections[0].missing == "No decision was read: nothing happened."
    assert "No request was refused." in leads["refused"]
    assert "No ACL is known to have been added or removed." in leads["changes"]
    assert (report.first_day, report.figures[-1].number) == (None, UNKNOWN)
    assert search(tables) == search({"decisions": tables["decisions"]}) == {}


def test_what_the_evidence_lacks_is_told() -> None:
    """Days without decisions, grants without enough evidence, and a principal without a request."""
    later = BEGIN + timedelta(days=3)
    times = {"count": 1, "first_ts": BEGIN, "last_ts": later}
    grant = {"binding_id": "1", "principal": "User:idle", "permission_type": "ALLOW"}
    rows: dict[str, list[dict[str, Any]]] = {
        "decisions": [{"day": each.date(), **times} for each in (BEGIN, later)],
        "grant_usage": [grant],
        "unused_grants": [{**grant, "proposal": "NOT_ENOUGH_EVIDENCE"}],
    }

    tables = {name: table_of(name, each) for name, each in rows.items()}
    leads = {each.id: " ".join(map(str, each.lead)) for each in report_of(tables, ABOUT).sections}

    assert "On 2 days between them there is none." in leads["quality"]
    assert "For 1 grant the evidence is not enough" in leads["unused"]
    assert search(tables)["dormant:User:idle"].text == "grants and no request: User:idle"
    assert not search(tables)["unused:1"].proved


def test_no_removal_for_lack_of_evidence_is_no_zero() -> None:
    """Unused grants that are held back have the number of them, not "0 to remove"."""
    rows = [{"proposal": "ASK", "rule": "unknown-age"}, {"proposal": "NOT_ENOUGH_EVIDENCE"}]
    frames = {
        "decisions": table_of("decisions", [{"count": 1}]),
        "unused_grants": table_of("unused_grants", rows),
        "grant_usage": table_of("grant_usage", [{"principal": "User:a"}] * 2),
    }

    (figure,) = (each for each in report_of(frames, ABOUT).figures if "remove" in each.what)

    assert (figure.number, figure.remark) == (UNKNOWN, "not enough evidence about 2 unused grants")
