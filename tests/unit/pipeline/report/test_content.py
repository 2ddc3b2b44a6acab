"""All sections as one report."""

from __future__ import annotations

from datetime import UTC, date, datetime

from doorkeeper_pipeline.report.content import UNKNOWN, report_of
from doorkeeper_pipeline.report.model import About
from testkit.report_tables import small_tables, table_of

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
