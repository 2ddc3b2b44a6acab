"""Every grant, and grants that are too wide."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from doorkeeper_pipeline.report.grants import grants_of
from doorkeeper_pipeline.report.model import About, Commands, Names, Section, Statement
from testkit.report_tables import BEGIN, table_of

ABOUT = About(made=datetime(2026, 11, 8, tzinfo=UTC), rows_max=2)


def section_of(usage: list[dict[str, Any]], unused: list[dict[str, Any]]) -> Section:
    """Return the section about some rows of grant_usage and unused_grants."""
    allows = [{"permission_type": "ALLOW", **row} for row in usage]
    frames = {
        "grant_usage": table_of("grant_usage", allows),
        "unused_grants": table_of("unused_grants", unused),
    }
    return grants_of(frames, ABOUT)


def test_grants_are_divided_by_use() -> None:
    usage = [{"used": True, "decisive": True}, {"used": True}, {"used": True}, *[{}] * 4]
    verdicts: list[dict[str, Any]] = [{**row, "verdict": "KEEP"} for row in usage]

    section = section_of([*verdicts, {"permission_type": "DENY", "verdict": "KEEP"}], [])

    assert section.whole is not None
    assert [part.size for part in section.whole.parts] == [1, 2, 4]
    assert section.lead == ("7 grants in force: keep 7.",)


def test_grant_that_closes_a_resource_counts_once() -> None:
    """The only ACL of a resource is needed without a use: else the resource is open to everyone."""
    section = section_of([{"used": False, "decisive": True, "verdict": "KEEP"}], [])

    assert section.whole is not None
    assert [part.size for part in section.whole.parts] == [1, 0, 0]
    assert section.lead == ("1 grant in force: keep 1.",)


def test_removable_grants_come_first() -> None:
    usage = [
        {"principal": "User:a", "verdict": "KEEP", "severity": "CRITICAL"},
        {"principal": "User:b", "verdict": "REMOVE", "severity": "LOW"},
        {"principal": "User:c", "verdict": "REMOVE", "severity": "HIGH"},
    ]

    (table,) = section_of(usage, []).tables

    assert [row[1] for row in table.rows] == ["User:c", "User:b"]
    assert (table.total, table.whole) == (3, "gold/grant_usage")
    assert [each.word for each in table.words] == ["remove"]


def test_grant_has_its_evidence() -> None:
    name: dict[str, Any] = {
        "resource_type": "TOPIC",
        "resource_name": "t",
        "host": "*",
        "operation": "READ",
    }
    usage: list[dict[str, Any]] = [
        {**name, "binding_id": "one", "verdict": "REMOVE", "why": "because", "known_from": BEGIN,
         "days_known": 40, "last_used": BEGIN, "opens": "one topic"},
        {**name, "binding_id": "other", "verdict": "KEEP", "pattern_type": "PREFIXED"},
    ]  # fmt: skip
    unused = [{"binding_id": "one", "covered_by": ["other"], "command": "x"}]

    (table,) = section_of(usage, unused).tables

    assert table.rows[0][2:] == (
        Statement("READ on TOPIC t", ("one topic",)),
        table.words[0],
        Statement("because"),
        *(BEGIN, 40, BEGIN),
        Names(("READ on TOPIC t*",), 1),
        Commands("remove", ("x",)),
    )
