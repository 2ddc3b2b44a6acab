"""All sections as one report."""

from __future__ import annotations

from datetime import UTC, date, datetime

from doorkeeper_pipeline.report.content import UNKNOWN, report_of
from doorkeeper_pipeline.report.model import About, Figure
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


def test_wide_grants_that_were_never_used_are_counted() -> None:
    """None is wider than its use, and the figure must not read as if there were no wide one."""
    grants = [
        {"principal": "User:a", "resource_name": "*", "pattern_type": "LITERAL"},
        {"principal": "User:*", "resource_name": "x", "pattern_type": "PREFIXED"},
        {"principal": "User:a", "resource_name": "*", "pattern_type": "PREFIXED"},
    ]
    frames = {
        "decisions": table_of("decisions", [{"count": 1}]),
        "grant_usage": table_of(
            "grant_usage", [{"permission_type": "ALLOW", **each} for each in grants]
        ),
        "unused_grants": table_of("unused_grants", [{"proposal": "REMOVE"}]),
        "overbroad_grants": table_of("overbroad_grants", []),
        "new_access": table_of("new_access", []),
    }

    figures = report_of(frames, ABOUT).figures

    assert figures[4] == Figure(
        UNKNOWN, "", "new principals", "nothing earlier is known", "changes"
    )
    assert [(each.number, each.what, each.remark) for each in figures[2:4]] == [
        ("1", "redundant grant", "33% of 3 grants; no decision needs them"),
        ("0", "grants wider than their use", "2 in force for all names or principals"),
    ]
