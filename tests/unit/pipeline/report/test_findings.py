"""Findings from report to report."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

import pytest

from doorkeeper_pipeline.errors import Conflicting, Unreadable
from doorkeeper_pipeline.report.findings import (
    Finding,
    Found,
    Register,
    accepted,
    follow,
    read,
    text_of,
    without,
)

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = (
    '{"version": 1, "findings": {"a": {"kind": "k", "text": "t", "first_seen": "2026-11-26", %s}}}'
)
DAY = date(2026, 11, 8)
LATER = DAY + timedelta(days=7)


ONE = {"broad:1": Found("broad grant", "one")}
TWO = {"unused:2": Found("unused grant", "two")}


def test_the_life_of_a_finding() -> None:
    """It is new, then open, then accepted until a day, then resolved, then open again."""
    first = follow(Register({}), ONE, DAY)
    agreed = Register({"broad:1": replace(first.findings["broad:1"], accepted_until=LATER)}, DAY)
    gone = follow(agreed, {}, LATER)
    again = follow(gone, ONE, LATER)

    assert first.findings["broad:1"].state(DAY) == "NEW"
    assert first.findings["broad:1"].state(LATER) == "OPEN"
    assert agreed.findings["broad:1"].state(LATER) == "ACCEPTED"
    assert agreed.findings["broad:1"].state(LATER + timedelta(days=1)) == "EXPIRED"
    assert gone.findings["broad:1"].resolved == LATER
    assert follow(gone, {}, LATER + timedelta(days=1)).findings == gone.findings
    assert gone.findings["broad:1"].state(LATER) == "RESOLVED"
    assert again.findings["broad:1"].resolved is None
    assert again.findings["broad:1"].first_seen == DAY


def test_what_is_not_proved_is_not_new_and_not_resolved() -> None:
    """Grants look unused in a short history; those that were known stay open."""
    unproved = {"unused:2": Found("unused grant", "two", proved=False)}
    known = follow(Register({}), TWO, DAY)

    assert follow(Register({}), unproved, DAY).findings == {}
    assert follow(known, unproved, LATER).findings["unused:2"].resolved is None


def test_a_file_keeps_everything(tmp_path: Path) -> None:
    """What is read is what was written; no file is an empty register."""
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
        ("{", "Expecting"),
        ("[]", 'expected is "version": 1'),
        ('{"version": 1, "findings": []}', "findings: found []; expected is an object"),
        ('{"version": 1, "reported": "now"}', "reported: found 'now'; expected is a day such as"),
        ('{"version": 1, "cluster": []}', "cluster: found []; expected is a text"),
        (ENTRY % '"owner": 5', "finding 'a': owner: found 5; expected is a text"),
        (ENTRY % '"until": "2027-01-31"', "finding 'a': unknown property 'until'; allowed: kind,"),
        (
            '{"version": 1, "findings": {"a": {"kind": "k", "text": "t", "first_seen": "today"}}}',
            "'a': first_seen: found 'today'; expected is a day",
        ),
    ],
)
def test_files_that_are_no_register(tmp_path: Path, text: str, expected: str) -> None:
    """The error names the file, the finding and what is wrong with it."""
    path = tmp_path / "findings.json"
    path.write_text(text)

    with pytest.raises(Unreadable) as raised:
        read(path)

    assert str(raised.value).startswith(str(path))
    assert expected in str(raised.value)


def test_findings_of_another_cluster(tmp_path: Path) -> None:
    """The file keeps the name of the cluster; a report on another would resolve all of them."""
    register = follow(Register({}), ONE, DAY, "payments")
    (tmp_path / "findings.json").write_text(text_of(register))

    known = read(tmp_path / "findings.json")

    assert known.cluster == "payments"
    assert follow(known, ONE, LATER).cluster == "payments"
    with pytest.raises(Conflicting, match="'payments', and the tables are about 'orders'"):
        follow(known, {}, LATER, "orders")


def test_what_is_left_out_is_kept_and_not_shown() -> None:
    """A finding of an excluded principal is not resolved: it comes back when it is shown again."""
    found = {"refused:a": Found("refusals", "a", "User:a"), **ONE}
    register = follow(Register({}), found, DAY)

    assert without(register, found, ("User:a",)).findings.keys() == ONE.keys()
    assert without(register, found, ("User:b",)) == register


def test_accepted_until() -> None:
    """The acceptances of a day are those of this day or a later one."""
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

    assert accepted(register, DAY) == {"today": DAY, "later": LATER}
