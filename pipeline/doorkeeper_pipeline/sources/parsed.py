"""The content of a piece of a source, as frames: the same for every source.

``decisions`` has the columns of the table ``lines`` but for file_id; times are UTC. ``quarantine``
has byte_offset, byte_length, reason and text; offsets count in the uncompressed file.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from doorkeeper_pipeline.evaluation.numbering import Stretch, joined
from doorkeeper_pipeline.sources.possible_principals import excerpt

UTC_TIME = pl.Datetime("us", "UTC")
TIME_MAX_US = 253370764799_999_999
"""The end of the year 9998, in microseconds since 1970: an hour later is still a time everywhere.
A time before 1970 or after that is a mistake of units, or a forged line."""

KEY = {
    "day": pl.Date(),
    "minute": UTC_TIME,
    "principal": pl.String(),
    "host": pl.String(),
    "operation": pl.String(),
    "resource_type": pl.String(),
    "resource_name": pl.String(),
    "outcome": pl.String(),
    "api": pl.String(),
    "rule": pl.String(),
    "rule_binding": pl.String(),
    "probe": pl.Boolean(),
    "source": pl.String(),
    "cluster": pl.String(),
}
"""The columns that tell decisions apart."""

TIME_MARK = "time_mark"
"""The column of the sum of ``mark_of`` over the lines of a row."""

DECISIONS = {
    **KEY,
    "count": pl.Int64(),
    "first_ts": UTC_TIME,
    "last_ts": UTC_TIME,
    "lines": pl.Int64(),
    TIME_MARK: pl.Int64(),
}
SUMS = (
    pl.col("count", "lines", TIME_MARK).sum(),
    pl.col("first_ts").min(),
    pl.col("last_ts").max(),
)
"""Several rows of a decision as one."""

QUARANTINE = {
    "byte_offset": pl.Int64(),
    "byte_length": pl.Int64(),
    "reason": pl.String(),
    "text": pl.String(),
}


def mark_of(time: pl.Expr) -> pl.Expr:
    """Return the square of the milliseconds within the minute.

    Sums of squares tell apart lines that have the same first and last time.
    """
    return (time.dt.second().cast(pl.Int64) * 1000 + time.dt.millisecond()) ** 2


def no_decisions() -> pl.DataFrame:
    return pl.DataFrame(schema=DECISIONS)


def quarantine_frame(rows: Iterable[tuple[int, int, str, str]]) -> pl.DataFrame:
    """Return rows of (offset, length, reason, text) as a frame."""
    cut = [(offset, length, reason, excerpt(text)) for offset, length, reason, text in rows]
    return pl.DataFrame(cut, schema=QUARANTINE, orient="row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a piece of a source has.

    Attributes:
        lines: How many lines, or events, the piece has.
        ignored: How many of them are known and say no decision.
        quarantined: How many of them are in quarantine, where a piece may have several.
        normalised: How many lines have a principal that is printed as an object, see
            ``doorkeeper.acls.formats.logged_principals``.
        missing: Decisions that the source itself says are missing, on ``lost_days``.
        stretches: The numbers of its events, where these have some.
        damaged: How many files break off in it: the rest of each is unknown.

    """

    lines: int = 0
    ignored: int = 0
    quarantined: int = 0
    normalised: int = 0
    missing: int = 0
    lost_days: frozenset[dt.date] = frozenset()
    stretches: tuple[Stretch, ...] = ()
    damaged: int = 0


def total(pieces: Collection[Counts]) -> dict[str, Any]:
    """Return the counts of several pieces together, by their names."""
    numbers = ("lines", "ignored", "quarantined", "normalised", "missing", "damaged")
    return {
        **{name: sum(getattr(piece, name) for piece in pieces) for name in numbers},
        "lost_days": frozenset().union(*(piece.lost_days for piece in pieces)),
        "stretches": tuple(joined(stretch for piece in pieces for stretch in piece.stretches)),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed(Counts):
    """The content of a piece: decisions, equal ones of a minute merged, and unreadable parts."""

    decisions: pl.DataFrame = field(default_factory=no_decisions)
    quarantine: pl.DataFrame = field(default_factory=lambda: quarantine_frame(()))


def breakage(offset: int, error: Exception) -> Parsed:
    """Return the place where a compressed file breaks off, as a piece."""
    return Parsed(quarantine=quarantine_frame([(offset, 0, str(error), "")]), damaged=1)


def join_pieces(pieces: Iterable[Parsed]) -> Parsed:
    """Return several pieces as one; a decision of two pieces stays two rows."""
    all_pieces = list(pieces)
    return Parsed(
        decisions=pl.concat([no_decisions(), *(piece.decisions for piece in all_pieces)]),
        quarantine=pl.concat([quarantine_frame(()), *(piece.quarantine for piece in all_pieces)]),
        **total(all_pieces),
    )


def sum_parts(parts: Iterable[Parsed]) -> Parsed:
    """Return parts of a range as one, with equal decisions of a minute merged."""
    all_parts = list(parts)
    if len(all_parts) == 1:
        return all_parts[0]
    joined = join_pieces(all_parts)
    return replace(joined, decisions=sum_decisions(joined.decisions))


def sum_decisions(decisions: pl.DataFrame) -> pl.DataFrame:
    """Return decisions with equal ones of a minute merged, in no order."""
    return decisions.group_by(list(KEY)).agg(SUMS).select(list(DECISIONS))
