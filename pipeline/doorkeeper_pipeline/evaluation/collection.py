"""Whether a log of an authorizer has all lines: a collector may drop some when there are many.

    days     a day with far fewer decisions than the weekday has usually
    pairs    requests that write two lines, of which one is missing (``jobs.observed``)
    members  principals that use groups, without the requests by which a client begins
    torn     compressed files that break off

What shows none of them is not checked, and is said to be so.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from doorkeeper_pipeline.amounts import amount, first

Row = Mapping[str, Any]

THIN_SHARE: Final = 0.2
USUAL_MIN: Final = 100
"""Fewer decisions a day differ by chance; also such weekdays that come less than three times."""
WEEKDAYS_MIN: Final = 3

PAIRS_MIN: Final = 20
MEMBERS_MIN: Final = 5
MEMBER_DAYS_MIN: Final = 7
"""Members that run longer than the history have begun before it."""
BEGUN_SHARE: Final = 0.5


class Collection(NamedTuple):
    """What a log shows of its own completeness.

    ``thin`` are the days with far fewer decisions than usual, sorted. ``paired`` and ``unpaired``
    are requests that write two lines, with both and with one. ``members`` are principals that use
    groups, and ``begun`` those of them whose requests show that they began. ``torn`` is the number
    of files that break off.
    """

    thin: tuple[dt.date, ...] = ()
    paired: int = 0
    unpaired: int = 0
    members: int = 0
    begun: int = 0
    torn: int = 0


def collection_of(days: Iterable[Row], clients: Iterable[Row]) -> Collection:
    """Return what the tables days and clients show."""
    allowed = [row for row in days if row["outcome"] == "ALLOWED"]
    asked = ("commits", "heartbeats", "joins", "syncs")
    members = [
        row
        for row in clients
        if any(row[name] for name in asked) or (row["fetches"] and row["may_join"])
    ]
    has_syncs = any(row["syncs"] for row in members)
    return Collection(
        thin=_thin_days({row["day"]: row["count"] for row in allowed}),
        # Earlier releases did not count them.
        paired=sum(row["paired"] or 0 for row in allowed),
        unpaired=sum(row["unpaired"] or 0 for row in allowed),
        members=len(members),
        begun=sum(_has_begun(row, has_syncs=has_syncs) for row in members),
    )


def lost_lines(
    collection: Collection, days: int, all_days: int, span_days: float, coverage: float
) -> Iterator[str]:
    """Yield what says that lines of a log are missing.

    Of ``all_days`` that the history lasts ``days`` have decisions; ``coverage`` is the percentage
    that is needed of days and of pairs, 0 for no check.
    """
    if not coverage:
        return
    if collection.torn:
        files = amount(collection.torn, "compressed file breaks", "compressed files break")
        yield (
            f"{files} off, and the rest may have the only use of any grant: restore them and"
            " run again (--min-coverage 0 disables this check)"
        )
    if collection.thin and 100 * (days - len(collection.thin)) < coverage * all_days <= 100 * days:
        yield (
            f"on {len(collection.thin):,} of {all_days:,} days the log has less than a fifth of the"
            f" usual decisions for the weekday; required: {coverage:g}% of the days"
            " (--min-coverage). Check whether a collector drops lines. Days:"
            f" {first(collection.thin)}"
        )
    pairs = collection.paired + collection.unpaired
    if pairs >= PAIRS_MIN and 100 * collection.paired < coverage * pairs:
        yield (
            f"of {pairs:,} requests that write two lines, {collection.unpaired:,} have only one;"
            f" required: {coverage:g}% with both (--min-coverage). A collector drops lines, or"
            " logs of brokers are missing"
        )
    if _has_members(collection, span_days) and collection.begun < BEGUN_SHARE * collection.members:
        yield (
            f"{collection.members - collection.begun:,} of {collection.members:,} principals"
            " that use groups have no initial requests (FindCoordinator, JoinGroup, SyncGroup) in"
            f" {span_days:.0f} days: a collector drops lines (--min-coverage 0 disables this"
            " check)"
        )


def unchecked(collection: Collection, span_days: float) -> str:
    """Return what could not be checked; empty where something could."""
    pairs = collection.paired + collection.unpaired
    if pairs >= PAIRS_MIN or _has_members(collection, span_days):
        return ""
    return (
        "whether a collector dropped lines: not enough data (principals that use groups:"
        f" {collection.members:,}, requests that write two lines: {pairs:,})"
    )


def _has_begun(row: Row, *, has_syncs: bool) -> bool:
    """Say whether a principal looks for a coordinator; a member joins, and gets its share."""
    if not any(row[name] for name in ("heartbeats", "joins", "syncs")):
        return bool(row["look_ups"])
    # Not each authorizer's log names all requests.
    return bool(row["joins"] and (row["syncs"] or not has_syncs))


def _has_members(collection: Collection, span_days: float) -> bool:
    return collection.members >= MEMBERS_MIN and span_days >= MEMBER_DAYS_MIN


def _thin_days(counts: Mapping[dt.date, int]) -> tuple[dt.date, ...]:
    """Return the days with a small part of what is usual for their weekday.

    The first and the last day may be parts of days. What is usual is near the largest, so that it
    is not low where lines were dropped for weeks, and one day of an incident does not count.
    """
    by_weekday: dict[int, list[int]] = defaultdict(list)
    for day, count in counts.items():
        by_weekday[day.weekday()].append(count)
    usual = {
        weekday: sorted(those)[-2]
        for weekday, those in by_weekday.items()
        if len(those) >= WEEKDAYS_MIN
    }
    ends = (min(counts, default=None), max(counts, default=None))
    return tuple(
        day
        for day, count in sorted(counts.items())
        if day not in ends
        and usual.get(day.weekday(), 0) >= USUAL_MIN
        and count < THIN_SHARE * usual[day.weekday()]
    )
