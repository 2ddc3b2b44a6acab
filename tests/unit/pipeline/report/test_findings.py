"""The file in which people own and accept findings."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from doorkeeper_pipeline.errors import Conflicting, Unreadable
from doorkeeper_pipeline.report.findings import (
    Finding,
    Register,
    accepted,
    read,
    text_of,
    update,
)

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = (
    '{"version": 1, "findings": {"a": {"kind": "k", "text": "t", "first_seen": "2026-11-26", %s}}}'
)
DAY = date(2026, 11, 8)
LATER = DAY + timedelta(days=7)


def row(name: str, first: date, gone: date | None = None, **changed: Any) -> dict[str, Any]:
    """Return a row of the table findings."""
    times = {"first_seen": _time(first), "gone": None if gone is None else _time(gone)}
    text = {"cause": "unused", "principal": "User:a", "subject": "READ on TOPIC t"}
    return {"finding_id": name, **text, **times, **changed}


def _time(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 2, 30, tzinfo=UTC)


def test_register_follows_the_table() -> None:
    first = update(Register({}), [row("unused:1", DAY), row("unused:2", DAY, LATER)], DAY)
    owned = first._replace(findings={"unused:1": replace(first.findings["unused:1"], owner="o")})
    gone = update(owned, [row("unused:1", DAY, LATER, subject="WRITE")], LATER)
    back = update(gone, [row("unused:1", LATER)], LATER)
    left = update(back, [], LATER)

    assert first.findings.keys() == {"unused:1"}
    (found,) = gone.findings.values()
    assert (found.owner, found.resolved, found.text) == ("o", LATER, "User:a: WRITE")
    assert back.findings["unused:1"].resolved is None
    assert back.findings["unused:1"].first_seen == DAY
    assert left.findings["unused:1"].resolved == LATER


def test_register_round_trips(tmp_path: Path) -> None:
    path = tmp_path / "findings.json"
    finding = Finding(kind="k", text="\u202e", first_seen=DAY, owner="o", accepted_until=LATER)
    register = Register({"a": finding, "b": replace(finding, resolved=DAY, note="n")}, DAY)

    path.write_text(text_of(register))

    assert read(path) == register
    assert read(tmp_path / "none") == Register({})
    assert path.read_text().isascii()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "truncated"),
        ("{}", "missing required field `version`"),
        ('{"version": 1, "findings": []}', "Expected `object`, got `array` - at `$.findings`"),
        ('{"version": 1, "reported": "now"}', "Invalid RFC3339 encoded date - at `$.reported`"),
        ('{"version": 1, "cluster": []}', "Expected `str`, got `array` - at `$.cluster`"),
        (ENTRY % '"owner": 5', "finding 'a': Expected `str`, got `int` - at `$.owner`"),
        (ENTRY % '"until": "2027-01-31"', "finding 'a': Object contains unknown field `until`"),
        (
            '{"version": 1, "findings": {"a": {"kind": "k", "text": "t", "first_seen": "today"}}}',
            "finding 'a': Invalid RFC3339 encoded date - at `$.first_seen`",
        ),
    ],
)
def test_invalid_registers_are_rejected(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "findings.json"
    path.write_text(text)

    with pytest.raises(Unreadable) as raised:
        read(path)

    assert str(raised.value).startswith(str(path))
    assert expected in str(raised.value)


@pytest.mark.parametrize("text", ['{"version": 1, "cluster": "\xe4"}', ENTRY % '"owner": "\xe4"'])
def test_register_in_latin_1_is_rejected(tmp_path: Path, text: str) -> None:
    path = tmp_path / "findings.json"
    path.write_text(text, "latin-1")

    with pytest.raises(Unreadable, match=r"findings\.json: .*utf-8"):
        read(path)


def test_register_of_another_cluster_is_rejected(tmp_path: Path) -> None:
    register = update(Register({}), [row("broad:1", DAY)], DAY, "payments")
    (tmp_path / "findings.json").write_text(text_of(register))

    known = read(tmp_path / "findings.json")

    assert known.cluster == "payments"
    assert update(known, [], LATER).cluster == "payments"
    with pytest.raises(Conflicting, match="'payments', but the tables belong to cluster 'orders'"):
        update(known, [], LATER, "orders")


def test_accepted_until() -> None:
    """The acceptances of a day are those of this day or a later one.

    A finding that is gone for a run may come back before the next report.
    """
    finding = Finding(kind="k", text="t", first_seen=DAY)
    register = Register(
        {
            "today": replace(finding, accepted_until=DAY),
            "later": replace(finding, accepted_until=LATER),
            "over": replace(finding, accepted_until=DAY - timedelta(days=1)),
            "gone": replace(finding, accepted_until=LATER, resolved=DAY),
            "never": finding,
        }
    )

    assert accepted(register, DAY) == {"today": DAY, "later": LATER, "gone": LATER}
