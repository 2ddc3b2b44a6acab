"""Lines that could not be read for certain, and whose grants they may have used.

Absence from a log is no evidence against a grant while lines of its principal were not read.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

LISTED_MAX = 5


class UnreadLines(NamedTuple):
    """The principals that such lines may be about, and how many lines say nothing of theirs.

    ``torn`` is for each file that breaks off the day of its last decision, None without one.
    """

    principals: frozenset[str] = frozenset()
    nameless: int = 0
    torn: tuple[dt.date | None, ...] = ()

    @property
    def torn_days(self) -> frozenset[dt.date]:
        return frozenset(day for day in self.torn if day is not None)


NOTHING_UNREAD = UnreadLines()


def sum_unread(parts: Iterable[UnreadLines]) -> UnreadLines:
    found = list(parts)
    principals = frozenset[str]().union(*(each.principals for each in found))
    torn = tuple(day for each in found for day in each.torn)
    return UnreadLines(principals, sum(each.nameless for each in found), torn)


def unread_in_files(files: Iterable[Mapping[str, Any]], cluster: str) -> UnreadLines:
    """Return the lines of a cluster by rows of the table files.

    Of files that an earlier release read, all lines in quarantine are nameless.
    """
    return sum_unread(
        UnreadLines(
            frozenset(file["unread_principals"] or ()),
            file["quarantined"] if file["nameless"] is None else file["nameless"],
            (file["last_ts"] and file["last_ts"].date(),) if file["damaged"] else (),
        )
        for file in files
        if not file["clusters"] or cluster in file["clusters"]
    )


def nothing_proposed(principals: Iterable[str], reason: str) -> Iterator[str]:
    """Yield a line that names principals without a proposal; nothing if there are none."""
    names = frozenset(principals)
    if names:
        yield f"nothing is proposed for {_listed(names)} and User:*, because {reason}"


def describe_uncounted(unread: UnreadLines) -> Iterator[str]:
    """Yield what lines that were not read mean for the numbers of a backtest."""
    if unread.principals:
        yield (
            "not counted: requests in ambiguous lines that may belong to"
            f" {_listed(unread.principals)} (table quarantine)"
        )
    yield from _describe_unnamed(unread)


def describe_unread(unread: UnreadLines) -> Iterator[str]:
    """Yield what lines that were not read mean for proposals."""
    yield from nothing_proposed(
        unread.principals, "ambiguous lines may belong to them (table quarantine)"
    )
    yield from _describe_unnamed(unread)


def _describe_unnamed(unread: UnreadLines) -> Iterator[str]:
    count = unread.nameless
    if count:
        lines = "line names" if count == 1 else "lines name"
        yield f"{count:,} quarantined {lines} no principal: any grant may have been used there"
    if unread.torn:
        files = "file" if len(unread.torn) == 1 else "files"
        days = _listed(map(str, unread.torn_days))
        yield (
            f"{len(unread.torn):,} truncated compressed {files}: any grant may have been used in"
            f" the rest{f', and these days are not covered: {days}' if days else ''}"
        )


def _listed(values: Iterable[str]) -> str:
    names = sorted(values)
    more = f" and {len(names) - LISTED_MAX:,} more" if len(names) > LISTED_MAX else ""
    return ", ".join(names[:LISTED_MAX]) + more
