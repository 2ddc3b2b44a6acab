"""Lines that could not be read for certain, and whose grants they may have used.

Absence from a log is no evidence against a grant while lines of its principal were not read.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from doorkeeper_pipeline.amounts import amount
from doorkeeper_pipeline.evaluation.numbering import lost_days, stretches_in

LISTED_MAX = 5


class UnreadLines(NamedTuple):
    """The principals that such lines may be about, and how many lines say nothing of theirs.

    ``torn`` is the number of files that break off, and ``lost_days`` are those on which lines are
    missing for certain.
    """

    principals: frozenset[str] = frozenset()
    nameless: int = 0
    torn: int = 0
    lost_days: frozenset[dt.date] = frozenset()


NOTHING_UNREAD = UnreadLines()


def sum_unread(parts: Iterable[UnreadLines]) -> UnreadLines:
    all_parts = list(parts)
    return UnreadLines(
        frozenset().union(*(part.principals for part in all_parts)),
        sum(part.nameless for part in all_parts),
        sum(part.torn for part in all_parts),
        frozenset().union(*(part.lost_days for part in all_parts)),
    )


def unread_in_files(files: Iterable[Mapping[str, Any]], cluster: str) -> UnreadLines:
    """Return the lines of a cluster by rows of the table files.

    Of files that an earlier release read, all lines in quarantine are nameless.
    """
    own = [file for file in files if not file["clusters"] or cluster in file["clusters"]]
    gaps = UnreadLines(lost_days=lost_days(stretches_in(own)))
    return sum_unread(
        [
            gaps,
            *(
                UnreadLines(
                    frozenset(file["unread_principals"] or ()),
                    file["quarantined"] if file["nameless"] is None else file["nameless"],
                    int(bool(file["damaged"])),
                    _lost_days(file),
                )
                for file in own
            ),
        ]
    )


def _lost_days(file: Mapping[str, Any]) -> frozenset[dt.date]:
    """Return the days on which a file says that it lacks lines, and that on which it breaks off."""
    days = frozenset(map(dt.date.fromisoformat, file["lost_days"] or ()))
    return days | {file["last_ts"].date()} if file["damaged"] and file["last_ts"] else days


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
    if unread.nameless:
        lines = amount(unread.nameless, "quarantined line names", "quarantined lines name")
        yield f"{lines} no principal: any grant may have been used there"
    if unread.torn:
        files = amount(unread.torn, "truncated compressed file")
        yield f"{files}: any grant may have been used in the rest"
    if unread.lost_days:
        yield (
            "lines are missing (dropped events, gaps in numbers of events or offsets, truncated"
            " files): any grant may have been used in them, and these days are not covered:"
            f" {_listed(map(str, unread.lost_days))}"
        )


def _listed(values: Iterable[str]) -> str:
    names = sorted(values)
    more = f" and {len(names) - LISTED_MAX:,} more" if len(names) > LISTED_MAX else ""
    return ", ".join(names[:LISTED_MAX]) + more
