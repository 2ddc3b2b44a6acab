"""What is new."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from doorkeeper_pipeline.report.changes import changes_of, new_principals_of
from doorkeeper_pipeline.report.model import About, Resource
from testkit.report_tables import BEGIN, table_of

ABOUT = About(made=datetime(2026, 11, 8, tzinfo=UTC))


def test_without_anything_earlier_nothing_is_new() -> None:
    """The section says that there is nothing to compare with."""
    assert changes_of({}, ABOUT).missing == "Nothing earlier is known to compare with."
    assert new_principals_of({}) is None


def test_new_principals_come_before_new_hosts_and_resources() -> None:
    """A row shows what is new in it and nothing else."""
    rows = [
        {"kind": "RESOURCE", "principal": "User:a", "resource_type": "TOPIC",
         "resource_name": "t", "count": 99},
        {"kind": "HOST", "principal": "User:b", "host": "10.0.0.1", "count": 50},
        {"kind": "PRINCIPAL", "principal": "User:c", "count": 1, "denied": 1},
    ]  # fmt: skip
    frames = {"new_access": table_of("new_access", rows)}

    section = changes_of(frames, ABOUT)
    (table,) = section.tables

    assert [row[1] for row in table.rows] == ["User:c", "User:b", "User:a"]
    assert [row[2] for row in table.rows] == [None, "10.0.0.1", None]
    assert [row[3] for row in table.rows] == [None, None, Resource("TOPIC", "t")]
    assert " ".join(section.lead) == (
        "First seen since 1\u00a0Nov\u00a02026 00:00: 1 principal, 1 new address and 1 new resource"
        " of principals known before."
    )
    assert new_principals_of(frames) == 1


def test_nothing_changed() -> None:
    """Without a change it is said that none is known."""
    section = changes_of({"drift": table_of("drift", [])}, ABOUT)

    assert section.lead == ("No ACL is known to have been added or removed.",)
    assert section.tables[0].empty == "No grant changed."


def test_the_newest_change_comes_first() -> None:
    """Changes of unknown time are last."""
    rows: list[dict[str, object]] = [
        {"change": "ADDED", "principal": "User:a"},
        {"change": "ADDED", "principal": "User:b", "at": BEGIN},
        {"change": "REMOVED", "principal": "User:c", "at": BEGIN + timedelta(days=1), "by": "x"},
    ]

    section = changes_of({"drift": table_of("drift", rows)}, ABOUT)

    assert [row[1] for row in section.tables[0].rows] == ["User:c", "User:b", "User:a"]
    assert section.lead == ("Of the ACLs, 2 were added and 1 removed between the two sets.",)
