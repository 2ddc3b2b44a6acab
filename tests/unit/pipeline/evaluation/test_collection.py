"""What shows that a collector dropped lines, and what shows nothing."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper_pipeline.evaluation.collection import (
    Collection,
    collection_of,
    lost_lines,
    unchecked,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

MONDAY = dt.date(2026, 9, 7)
WEEKS = 6


def days(counts: Sequence[int], **pairs: int) -> list[dict[str, Any]]:
    """Return rows of the table days with so many allowed decisions."""
    none = {"paired": 0, "unpaired": 0}
    return [
        {
            "day": MONDAY + dt.timedelta(days=number),
            "outcome": outcome,
            "count": count,
            **none,
            **(pairs if outcome == "ALLOWED" else {}),
        }
        for number, count in enumerate(counts)
        for outcome in ("ALLOWED", "DENIED")
    ]


def client(**counts: Any) -> dict[str, Any]:
    names = ("fetches", "commits", "heartbeats", "look_ups", "joins", "syncs")
    return {**dict.fromkeys(names, 0), "may_join": False, **counts}


def lost(found: Collection, coverage: float = 90, span_days: float = 42) -> list[str]:
    return list(lost_lines(found, 42, 42, span_days, coverage))


@pytest.mark.parametrize(
    ("counts", "thin"),
    [
        ([200] * 30 + [20] * 12, 11),
        ([20] * 20 + [200] * 22, 19),
        ([200] * 42, 0),
        # Weekends are quiet, a day is an incident, the first and the last day are parts.
        (([200] * 5 + [20] * 2) * WEEKS, 0),
        ([200] * 20 + [9_000] + [200] * 21, 0),
        ([1] + [200] * 40 + [1], 0),
        # Few decisions differ by chance, and so do growing ones.
        ([90] * 30 + [2] * 12, 0),
        ([200 + 15 * number for number in range(42)], 0),
    ],
)
def test_days_with_unusually_few_decisions(counts: list[int], thin: int) -> None:
    assert len(collection_of(days(counts), []).thin) == thin


def test_limit_tolerates_some_thin_days() -> None:
    found = collection_of(days([200] * 30 + [20] * 12), [])

    (text,) = lost(found)
    assert text.startswith("on 11 of 42 days the log has less than a fifth of the usual decisions")
    assert lost(found, coverage=70) == lost(found, coverage=0) == []
    assert lost(found._replace(thin=found.thin[:4])) == []


@pytest.mark.parametrize(
    ("paired", "unpaired", "is_lost"),
    [(2, 18, True), (0, 20, True), (17, 3, True), (18, 2, False), (0, 19, False), (1000, 1, False)],
)
def test_requests_with_a_missing_line(paired: int, unpaired: int, *, is_lost: bool) -> None:
    found = collection_of(days([200] * 2, paired=paired // 2, unpaired=unpaired // 2), [])
    found = found._replace(paired=paired, unpaired=unpaired)

    assert bool(lost(found)) is is_lost
    assert not lost(found, coverage=0)


def test_pairs_are_summed_over_days() -> None:
    """Tables of an earlier release have none."""
    rows = days([200] * 3, paired=2, unpaired=1)
    rows[0].update(paired=None, unpaired=None)

    found = collection_of(rows, [])

    assert (found.paired, found.unpaired) == (4, 2)


MEMBER = client(heartbeats=9, commits=9, joins=2, syncs=1, look_ups=1)


@pytest.mark.parametrize(
    ("rows", "members", "begun"),
    [
        ([MEMBER], 1, 1),
        ([client(heartbeats=9, joins=1, syncs=1)], 1, 1),
        ([client(heartbeats=9), MEMBER], 2, 1),
        ([client(heartbeats=9, joins=1), MEMBER], 2, 1),
        # Not each log has SyncGroup.
        ([client(commits=9, joins=1), client(commits=9, joins=1)], 2, 2),
        # Without a membership of its own a client looks for the coordinator of the group.
        ([client(commits=9, look_ups=1)], 1, 1),
        ([client(commits=9)], 1, 0),
        ([client(fetches=9, may_join=True)], 1, 0),
        ([client(fetches=9, may_join=True, look_ups=1)], 1, 1),
        ([client(fetches=9), client(may_join=True), client(look_ups=1)], 0, 0),
    ],
)
def test_members_with_a_beginning(rows: list[dict[str, Any]], members: int, begun: int) -> None:
    found = collection_of([], rows)

    assert (found.members, found.begun) == (members, begun)


@pytest.mark.parametrize(
    ("members", "begun", "span_days", "is_lost"),
    [
        (5, 2, 42, True),
        (5, 3, 42, False),
        (4, 0, 42, False),
        (12, 1, 8, True),
        # They began before.
        (12, 1, 6, False),
    ],
)
def test_most_members_begin_within_weeks(
    members: int, begun: int, span_days: float, *, is_lost: bool
) -> None:
    """Some run longer than that."""
    found = Collection(members=members, begun=begun)

    assert bool(lost(found, span_days=span_days)) is is_lost
    assert not lost(found, coverage=0, span_days=span_days)


def test_unchecked_signs_are_listed() -> None:
    assert "use groups: 4, requests that write two lines: 19)" in unchecked(
        Collection(members=4, paired=10, unpaired=9), 42
    )
    assert unchecked(Collection(members=5), 42) == ""
    assert unchecked(Collection(members=5), 3) != ""
    assert unchecked(Collection(paired=20), 3) == ""
