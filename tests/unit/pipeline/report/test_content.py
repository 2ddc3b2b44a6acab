"""All sections as one report."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta

from doorkeeper_pipeline.report.model import UNKNOWN, About, Fact
from doorkeeper_pipeline.report.writing import report_of
from doorkeeper_pipeline.schemas import TABLES
from testkit.report_tables import BEGIN, small_tables, table_of

ABOUT = About(made=datetime(2026, 11, 8, tzinfo=UTC))


def test_complete_report() -> None:
    report = report_of(small_tables(), ABOUT)

    assert (report.first_day, report.last_day) == (date(2026, 11, 1), date(2026, 11, 7))
    assert [section.missing for section in report.sections] == [""] * 9
    tables = [table for section in report.sections for table in section.tables]
    ids = [section.id for section in report.sections] + [table.id for table in tables]
    assert len(set(ids)) == len(ids)
    for table in tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert len(table.rows) == table.total
    assert {figure.section for figure in report.figures} <= set(ids)


def test_report_of_decisions_only() -> None:
    report = report_of({"decisions": table_of("decisions", [{"count": 1}])}, ABOUT)

    assert [figure.number for figure in report.figures] == [UNKNOWN] * 3
    assert len(report.sections) == 9


def test_report_of_empty_tables() -> None:
    tables = {name: table_of(name, []) for name in TABLES}

    report = report_of(tables, ABOUT)

    sections = {section.id: section for section in report.sections}
    assert sections["overview"].missing == "No decisions were read."
    assert "No request was refused." in sections["refused"].lead
    assert "No ACL was added or removed." in sections["changes"].lead
    assert sections["decide"].lead == ("There is nothing to decide about.",)
    assert [figure.number for figure in report.figures] == [UNKNOWN, "0", "0"]
    assert report.first_day is None


def test_basis_is_at_the_top() -> None:
    later = BEGIN + timedelta(days=3)
    times = {"count": 1, "first_ts": BEGIN, "last_ts": later}
    asked = {"super_users": ["User:admin"], "thresholds": {"days": 35}}
    run = {"cluster": "lkc-1", "listed": [BEGIN, later], "asked": json.dumps(asked)}
    tables = {
        "decisions": table_of(
            "decisions",
            [{"day": each.date(), "outcome": "ALLOWED", **times} for each in (BEGIN, later)],
        ),
        "runs": table_of("runs", [run]),
    }

    facts = {fact.name: fact for fact in report_of(tables, ABOUT).basis}
    lowered = {**run, "warnings": ["RISK: --min-days 0 is below 35"]}
    risky = report_of({**tables, "runs": table_of("runs", [lowered])}, ABOUT)

    assert facts["Cluster"].text == "lkc-1"
    assert facts["Log"].text == "3 days, from 1 Nov 2026 00:00 to 4 Nov 2026 00:00 UTC"
    assert facts["Coverage"] == Fact(
        "Coverage", "allowed decisions, and no missing lines, on 2 of 4 days", doubtful=True
    )
    assert facts["Listings of ACLs"].text == "of 1 Nov 2026 and 4 Nov 2026"
    assert facts["Super users"].text == "User:admin"
    assert facts["Limits"].text.startswith("35 days for a removal, 92 for permissions")
    assert Fact("Lowered limit", "--min-days 0 is below 35", doubtful=True) in risky.basis


def test_coverage_is_that_of_the_evidence() -> None:
    """Refusals before DEBUG, and days on which lines are missing, cover nothing."""
    rows = [
        {"day": at.date(), "outcome": outcome, "count": 1, "first_ts": at, "last_ts": at}
        for at, outcome in (
            (BEGIN - timedelta(days=9), "DENIED"),
            *((BEGIN + timedelta(days=n), "ALLOWED") for n in range(3)),
        )
    ]
    files = [{"lines": 4, "damaged": 1, "last_ts": BEGIN + timedelta(days=1)}]
    tables = {"decisions": table_of("decisions", rows), "files": table_of("files", files)}

    report = report_of(tables, ABOUT)

    facts = {fact.name: fact for fact in report.basis}
    assert facts["Log"].text.startswith("11 days, from 23 Oct 2026")
    assert facts["Coverage"].text.endswith("on 2 of 3 days")
    (lead,) = report.sections[-1].lead
    assert lead.endswith("every one was understood, but others are missing: see the notes.")
