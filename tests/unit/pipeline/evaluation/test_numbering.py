"""Events that nobody read show in the numbers of the others."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from doorkeeper_pipeline.evaluation.numbering import (
    DAY_US,
    Numbered,
    Stretch,
    joined,
    lost_days,
    numbers_in,
    stretches_in,
    stretches_of,
    without_old,
)

FIRST = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
BEGIN_US = int(FIRST.timestamp()) * 1_000_000


def stretch(day: int, first: int, last: int, events: int = 0, origin: str = "node 1") -> Stretch:
    """Return the events of a day; all of them, if none is missing."""
    begin = BEGIN_US + day * DAY_US
    return Stretch(origin, first, last, events or last - first + 1, begin, begin + 60_000_000)


def days(*stretches: Stretch) -> list[int]:
    """Return which days, counted from the first, have missing events."""
    return sorted((each - FIRST.date()).days for each in lost_days(stretches))


@pytest.mark.parametrize(
    ("stretches", "lost"),
    [
        ([stretch(0, 5, 9), stretch(1, 10, 20), stretch(2, 21, 21)], []),
        ([stretch(0, 5, 9), stretch(1, 11, 20)], [0, 1]),
        ([stretch(0, 5, 9), stretch(3, 11, 20)], [0, 1, 2, 3]),
        ([stretch(0, 5, 9), stretch(1, 10, 20, 10), stretch(2, 21, 30)], [1]),
        # Another node, and one that lost its files, count anew.
        ([stretch(0, 5, 9), stretch(0, 20, 30, origin="node 2")], []),
        ([stretch(0, 5, 9), stretch(1, 1, 4), stretch(2, 5, 8)], []),
        ([stretch(0, 1, 4), stretch(1, 6, 8)], [0, 1]),
        # Copies, and parts of copies that were cut elsewhere.
        ([stretch(0, 1, 9, 5), stretch(0, 1, 9, 5)], [0]),
        ([stretch(0, 2, 9), stretch(0, 2, 6), stretch(0, 7, 9), stretch(1, 11, 12)], [0, 1]),
        # A copy of a part does not fill a gap, of whichever of the two.
        ([stretch(0, 1, 10), stretch(0, 5, 14, 9)], [0]),
        ([stretch(0, 1, 10, 9), stretch(0, 5, 14, 9)], [0]),
        ([stretch(0, 1, 10), stretch(0, 5, 8, 2), stretch(0, 5, 14)], []),
        # Partitions of a topic have every second event each.
        ([stretch(0, 2, 10, 5), stretch(0, 3, 11, 5), stretch(1, 12, 13)], []),
        ([stretch(0, 2, 10, 5), stretch(0, 3, 11, 4), stretch(1, 12, 13)], [0]),
        # The last event of a day may be written after the first one of the next.
        ([stretch(0, 2, 10, 8), stretch(1, 9, 12, 3)], []),
    ],
)
def test_lost_days(stretches: list[Stretch], lost: list[int]) -> None:
    assert days(*stretches) == days(*reversed(stretches)) == lost


def test_stretches_of_events() -> None:
    def event(number: int, day: int = 0, node: int = 1) -> Numbered:
        return Numbered(node, number, BEGIN_US + day * DAY_US + number, allowed=number == 8)

    found = stretches_of([event(7), event(8), event(8), event(9, 1), event(3, node=2), event(1, 1)])

    assert [(each.origin, each.first, each.last, each.events) for each in found] == [
        ("node 1", 7, 8, 2),
        ("node 1", 9, 9, 1),
        ("node 2", 3, 3, 1),
        ("node 1", 1, 1, 1),
    ]
    assert [each.has_allowed for each in found] == [True, False, False, False]
    assert stretches_of([]) == []


def test_stretches_that_follow_each_other_are_one() -> None:
    parts = [stretch(0, 5, 9), stretch(0, 2, 4, 2), stretch(0, 11, 12), stretch(1, 13, 14)]

    assert joined(parts) == [stretch(0, 2, 9, 7), *parts[2:]]


def test_old_numbers_are_left_out() -> None:
    """What retention removed is no gap before what stays, nor of files without decisions."""
    kept = stretch(3, 30, 31)
    texts = msgspec.json.encode([stretch(0, 5, 9), kept]).decode()

    left = numbers_in({"numbers": without_old("2026-11-04", texts)})

    assert left == [kept]
    assert numbers_in({"numbers": without_old("2026-11-05", texts)}) == []


def test_offsets_of_topics() -> None:
    """Ranges without a decision are read too; they have the times of the one before."""

    def row(partition: int, first: int, end: int, day: int | None) -> dict[str, Any]:
        at = None if day is None else FIRST + dt.timedelta(days=day)
        where = {"topic_id": "c/logs/x", "partition": partition}
        times = {"first_ts": at, "last_ts": at, "numbers": None}
        return where | times | {"first_offset": first, "end_offset": end}

    whole = [row(0, 0, 5, None), row(0, 5, 7, 0), row(0, 7, 9, None), row(1, 8, 9, 1)]

    assert days(*stretches_in(whole)) == []
    assert days(*stretches_in([*whole, row(0, 9, 12, 2)])) == []
    assert days(*stretches_in([*whole, row(0, 10, 12, 2)])) == [0, 1, 2]
