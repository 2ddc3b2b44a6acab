"""The numbers of events: a number that no file has is an event that nobody read.

Doorkeeper counts the events of a node, and Kafka the records of a partition.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, Final, NamedTuple

import msgspec

DAY_US: Final = 86_400_000_000
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()


class Numbered(NamedTuple):
    """An event's number at its node, and its time in microseconds since 1970.

    ``allowed`` says that it is a decision that was allowed.
    """

    node: int
    number: int
    at_us: int
    allowed: bool


class Stretch(msgspec.Struct, frozen=True, array_like=True):
    """Events of one origin and day: the first and the last number, how many, and their times.

    The origin is a node or a partition.
    """

    origin: str
    first: int
    last: int
    events: int
    begin_us: int
    end_us: int
    has_allowed: bool = False

    def joined(self, other: Stretch) -> Stretch:
        """Return both as one; events that both have count once.

        Where they are parts of partitions, each has the events that the other lacks. Where there
        are more events than numbers, some are copies, and a gap of either counts as a gap of both.
        """
        first, last = min(self.first, other.first), max(self.last, other.last)
        events = self.events + other.events
        if events > last - first + 1:
            overlap = min(self.last, other.last) - max(self.first, other.first) + 1
            events = max(self.events, other.events, events - overlap)
        return Stretch(
            self.origin,
            first,
            last,
            events,
            min(self.begin_us, other.begin_us),
            max(self.end_us, other.end_us),
            self.has_allowed or other.has_allowed,
        )


_DECODER: Final = msgspec.json.Decoder(list[Stretch])


def stretches_of(events: Sequence[Numbered]) -> list[Stretch]:
    """Return the stretches of the events of a piece of a file.

    Where the first number comes again, a node has lost its files and counts anew.
    """
    import polars as pl  # noqa: PLC0415  commands import this module before it is needed

    schema = dict(zip(Numbered._fields, (pl.Int64, pl.Int64, pl.Int64, pl.Boolean), strict=True))
    rows = (
        pl.DataFrame(events, schema, orient="row")
        .group_by(
            "node",
            (pl.col("number") == 1).cum_sum().over("node").alias("begun"),
            (pl.col("at_us") // DAY_US).alias("day"),
            maintain_order=True,
        )
        .agg(
            pl.col("number").min().alias("first"),
            pl.col("number").max().alias("last"),
            pl.col("number").n_unique().alias("events"),
            pl.col("at_us").min().alias("begin_us"),
            pl.col("at_us").max().alias("end_us"),
            pl.col("allowed").any(),
        )
        .drop("begun", "day")
    )
    return [Stretch(f"node {node}", *values) for node, *values in rows.iter_rows()]


def stretches_in(files: Iterable[Mapping[str, Any]]) -> Iterator[Stretch]:
    """Yield the stretches of rows of the table files; a range of a topic is one of offsets."""
    ranges = []
    for file in files:
        yield from numbers_in(file)
        if file["topic_id"] is not None:
            ranges.append((f"{file['topic_id']}/{file['partition']}", file["first_offset"], file))
    for origin, own in groupby(sorted(ranges, key=itemgetter(0, 1)), itemgetter(0)):
        times: tuple[int, int] | None = None
        for _, first, file in own:
            # One without a decision has the times of the one before.
            if file["first_ts"] is not None:
                times = _us(file["first_ts"]), _us(file["last_ts"])
            if times is not None:
                count = file["end_offset"] - first
                yield Stretch(origin, first, first + count - 1, count, *times)


def _us(at: dt.datetime) -> int:
    return int(at.timestamp() * 1_000_000)


def numbers_in(file: Mapping[str, Any]) -> list[Stretch]:
    """Return the stretches of the nodes in a row of the table files."""
    return _DECODER.decode(file["numbers"]) if file["numbers"] else []


def without_old(day: str, numbers: str) -> str:
    """Return the numbers of a row of the table files without those before a day."""
    first = dt.date.fromisoformat(day).toordinal() - _EPOCH
    young = [stretch for stretch in _DECODER.decode(numbers) if stretch.end_us // DAY_US >= first]
    return msgspec.json.encode(young).decode()


def joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Return stretches with those as one that follow each other on a day."""
    merged: list[Stretch] = []
    for stretch in sorted(stretches, key=_in_time):
        last = merged[-1] if merged else stretch
        follows = last.origin == stretch.origin and last.last + 1 == stretch.first
        if follows and last.begin_us // DAY_US == stretch.begin_us // DAY_US:
            merged[-1] = last.joined(stretch)
        else:
            merged.append(stretch)
    return merged


def lost_days(stretches: Iterable[Stretch]) -> frozenset[dt.date]:
    """Return the days on which events have numbers that no stretch has."""
    days: set[dt.date] = set()
    # A copy of a file has the same stretches.
    for _, own in groupby(sorted(set(stretches), key=_in_time), lambda stretch: stretch.origin):
        for counted in _counted(own):
            for begin, end in _gaps(counted):
                days.update(days_between(begin, end))
    return frozenset(days)


def days_between(begin_us: int, end_us: int) -> list[dt.date]:
    """Return the days (UTC) from one time to another."""
    first, last = sorted((begin_us // DAY_US, end_us // DAY_US))
    return [dt.date.fromordinal(_EPOCH + day) for day in range(first, last + 1)]


def _in_time(stretch: Stretch) -> tuple[str, int, int]:
    return stretch.origin, stretch.begin_us, stretch.first


def _counted(stretches: Iterable[Stretch]) -> Iterator[list[Stretch]]:
    """Yield the stretches of an origin between which it did not count anew."""
    counted: list[Stretch] = []
    for stretch in stretches:
        if stretch.first == 1 and counted:
            yield counted
            counted = []
        counted.append(stretch)
    yield counted


def _gaps(stretches: Iterable[Stretch]) -> Iterator[tuple[int, int]]:
    """Yield the times before and after missing events.

    Stretches overlap where partitions of a topic each have a part of the events of a node.
    """
    whole: list[Stretch] = []
    for stretch in sorted(stretches, key=lambda stretch: stretch.first):
        if whole and stretch.first <= whole[-1].last:
            whole[-1] = whole[-1].joined(stretch)
        else:
            whole.append(stretch)
    for stretch in whole:
        if stretch.events <= stretch.last - stretch.first:
            yield stretch.begin_us, stretch.end_us
    for before, after in pairwise(whole):
        if before.last + 1 < after.first:
            yield before.end_us, after.begin_us
