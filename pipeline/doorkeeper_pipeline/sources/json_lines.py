"""Files with one JSON object a line: the frame that the trail, OCSF and CloudEvents share.

An adapter turns the bytes of a line into rows; it raises ValueError for a line that it cannot read,
and the line goes to quarantine with that reason.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from doorkeeper_pipeline.errors import Damaged
from doorkeeper_pipeline.evaluation.numbering import Numbered, days_between, stretches_of
from doorkeeper_pipeline.sources.envelopes import PLAIN, Envelope, Rejected, Unwrapping
from doorkeeper_pipeline.sources.parsed import (
    DECISIONS,
    TIME_MARK,
    TIME_MAX_US,
    Parsed,
    breakage,
    mark_of,
    no_decisions,
    quarantine_frame,
    sum_decisions,
    sum_parts,
)
from doorkeeper_pipeline.sources.reading import part_bytes, readable, whole_lines
from doorkeeper_pipeline.sources.recognising import form_of_file

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
COUNT_MAX = 1 << 40
"""How often one line may say that something happened: sums of these fit into the tables."""


class Missing(NamedTuple):
    """A line says that so many decisions are not in the file, and from when to when."""

    count: int  # type: ignore[assignment]  # a tuple's method of that name is not needed
    first_us: int
    last_us: int


class Decided(NamedTuple):
    """A decision in a line, or several that the line counts; times are microseconds since 1970.

    ``cluster`` is empty where the line names none.
    """

    principal: str
    host: str
    operation: str
    resource_type: str
    resource_name: str
    outcome: str
    api: str
    rule: str
    rule_binding: str
    probe: bool
    count: int  # type: ignore[assignment]  # a tuple's method of that name is not needed
    first_us: int
    last_us: int
    cluster: str = ""


class Line(NamedTuple):
    """The decisions of a line, as an adapter returns them; none if it is known and has none.

    ``identity`` is the name under which it may come again, empty for none; ``number`` is that of
    an event at its node.
    """

    decided: Sequence[Decided] = ()
    identity: str = ""
    number: Numbered | None = None
    missing: Missing | None = None


_ROWS = {
    **dict.fromkeys(Decided._fields, pl.String()),
    **dict.fromkeys(("count", "first_us", "last_us"), pl.Int64()),
    "probe": pl.Boolean(),
}


def parse_parts(
    path: Path,
    how: str,
    source: str,
    adapter: Callable[[bytes], Line],
    start: int = 0,
    end: int | None = None,
) -> Iterator[Parsed]:
    """Parse the lines between two offsets, which must be beginnings of lines; yield them in parts.

    A decision of two parts is in both. An event that comes again is found in any of them.
    """
    envelope = form_of_file(path, how, source).envelope
    reading = _Reading(source, adapter, envelope)
    pieces: list[Parsed] = []
    size = part_bytes(how)
    at = begun = start
    try:
        for offset, block in whole_lines(path, how, start, end):
            pieces.append(reading.parse(offset, block))
            at = offset + len(block)
            if at - begun >= size:
                yield sum_parts(pieces)
                pieces, begun = [], at
    except Damaged as error:
        pieces.append(breakage(at, error))
    rest = reading.end()
    pieces += [rest] if rest.lines else []
    if pieces:
        yield sum_parts(pieces)


class _Reading:
    """Reads the events of a file, in whatever envelope, and knows those that it has seen."""

    def __init__(self, source: str, adapter: Callable[[bytes], Line], envelope: Envelope) -> None:
        self._source = source
        self._adapter = adapter
        self._unwrapping = None if envelope == PLAIN else Unwrapping(envelope)
        self._seen: set[str] = set()

    def parse(self, offset: int, block: bytes) -> Parsed:
        """Return the events of whole lines."""
        lines = []
        for line in block.split(b"\n"):
            lines += [(offset, line)] if line.strip() else []
            offset += len(line) + 1
        if self._unwrapping is None:
            return self._parse(lines, [], 0)
        for at, line in lines:
            self._unwrapping.add_line(at, line)
        return self._unwrapped()

    def end(self) -> Parsed:
        """Return what is left of a line that was cut into parts."""
        if self._unwrapping is None:
            return Parsed()
        self._unwrapping.end_line()
        return self._unwrapped()

    def _unwrapped(self) -> Parsed:
        assert self._unwrapping is not None
        texts, bad, ignored = self._unwrapping.take()
        return self._parse([(at, text.encode()) for at, text in texts], bad, ignored)

    def _parse(self, texts: list[tuple[int, bytes]], bad: list[Rejected], ignored: int) -> Parsed:
        """Return the events that texts are; the others were rejected, or left out."""
        lines = len(texts) + len(bad) + ignored
        rows: list[Decided] = []
        numbers: list[Numbered] = []
        missing = 0
        lost_days: set[dt.date] = set()
        for at, text in texts:
            try:
                content = self._adapter(text)
            except (ValueError, RecursionError) as error:
                reason = " ".join(str(error).split())[:300]
                bad.append((at, len(text), reason, readable(text)))
                continue
            numbers += [content.number] if content.number else []
            # The sender may repeat an event, which then has another place in the topic.
            if content.identity in self._seen:
                content = Line()
            self._seen.update([content.identity] if content.identity else ())
            if content.missing is not None:
                missing += content.missing.count
                lost_days.update(days_between(*content.missing[1:]))
            ignored += not content.decided
            rows += content.decided
        return Parsed(
            decisions=_frame(rows, self._source),
            quarantine=quarantine_frame(bad),
            lines=lines,
            ignored=ignored,
            quarantined=len(bad),
            missing=missing,
            lost_days=frozenset(lost_days),
            stretches=tuple(stretches_of(numbers)),
        )


def check_row(row: Decided) -> Decided:
    """Return a row whose numbers make sense.

    Raises:
        ValueError: a count is not positive or too large, or a time is none.

    """
    if not 1 <= row.count <= COUNT_MAX:
        raise ValueError(f"count: found {row.count}; expected: 1 to {COUNT_MAX}")
    check_times(row.first_us, row.last_us)
    if not row.principal or not row.resource_name:
        raise ValueError("the principal or the name of the resource is empty")
    return row


def check_times(first_us: int, last_us: int) -> None:
    """Check that two times are a range.

    Raises:
        ValueError: they are none.

    """
    if not 0 < first_us <= last_us <= TIME_MAX_US:
        raise ValueError(
            f"time: found {first_us} to {last_us} microseconds since 1970; expected: a range after"
            " 0 whose end is not before its start"
        )


def _frame(rows: list[Decided], source: str) -> pl.DataFrame:
    if not rows:
        return no_decisions()
    time = pl.Datetime("us", "UTC")
    frame = (
        pl.DataFrame(rows, schema=_ROWS, orient="row")
        .with_columns(
            first_ts=pl.col("first_us").cast(time),
            last_ts=pl.col("last_us").cast(time),
            source=pl.lit(source),
            lines=pl.lit(1, pl.Int64),
        )
        .with_columns(
            mark_of(pl.col("first_ts")).alias(TIME_MARK),
            minute=pl.col("first_ts").dt.truncate("1m"),
            day=pl.col("first_ts").dt.date(),
        )
    )
    return sum_decisions(frame.select(list(DECISIONS)))
