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
from doorkeeper_pipeline.sources.envelopes import PLAIN, Envelope, unwrap, without_prefix
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
from doorkeeper_pipeline.sources.reading import cut_blocks, part_bytes, readable
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
    reading = _Reading(source, adapter, envelope, set(), [])
    pieces: list[Parsed] = []
    size = part_bytes(how)
    at = begun = start
    try:
        for offset, block in whole_lines(path, how, start, end):
            pieces.append(_parse(offset, block, reading))
            at = offset + len(block)
            if at - begun >= size:
                yield sum_parts(pieces)
                pieces, begun = [], at
    except Damaged as error:
        pieces.append(breakage(at, error))
    if pieces:
        yield sum_parts(pieces)


def whole_lines(path: Path, how: str, start: int, end: int | None) -> Iterator[tuple[int, bytes]]:
    """Yield blocks that end where a line ends.

    Raises:
        Damaged: the file is broken after the last block.

    """
    for at, block in cut_blocks(path, how, start, end, lambda data, _: data.rfind(b"\n") + 1):
        yield at, bytes(block)


class _Reading(NamedTuple):
    """The source of a file, its adapter and envelope, the records seen in it, and new numbers."""

    source: str
    adapter: Callable[[bytes], Line]
    envelope: Envelope
    seen: set[str]
    numbers: list[Numbered]

    def contents(self, line: bytes) -> list[Line]:
        """Return the decisions of the events of a line, which is one in most envelopes.

        Raises:
            ValueError: it cannot be read.

        """
        if self.envelope == PLAIN:
            return [self._content(line, "")]
        contents = unwrap(self.envelope, line.decode("utf-8"))
        return [
            self._content(self._event(unwrapped.content), unwrapped.identity)
            for unwrapped in contents
        ]

    def _event(self, text: str) -> bytes:
        parts = without_prefix(self.envelope.begin, text) if self.envelope.begin else ("", text)
        return (parts[1] if parts else text).encode()

    def _content(self, event: bytes, record_id: str) -> Line:
        """Return the decisions of an event; none for one that was delivered before."""
        content = self.adapter(event)
        if content.number is not None:
            self.numbers.append(content.number)
        # The sender may repeat an event, which then has another place in the topic.
        identity = content.identity or record_id
        if identity in self.seen:
            return Line()
        if identity:
            self.seen.add(identity)
        return content


def _parse(offset: int, block: bytes, reading: _Reading) -> Parsed:
    rows: list[Decided] = []
    bad = []
    ignored = missing = lines = 0
    lost_days: set[dt.date] = set()
    for line in block.split(b"\n"):
        if line.strip():
            lines += 1
            try:
                contents = reading.contents(line)
            except (ValueError, RecursionError) as error:
                reason = " ".join(str(error).split())[:300]
                bad.append((offset, len(line), reason, readable(line)))
                contents = []
            else:
                lines += len(contents) - 1
            for content in contents:
                if content.missing is not None:
                    missing += content.missing.count
                    lost_days.update(days_between(*content.missing[1:]))
                ignored += not content.decided
                rows += content.decided
        offset += len(line) + 1
    stretches = tuple(stretches_of(reading.numbers))
    reading.numbers.clear()
    return Parsed(
        decisions=_frame(rows, reading.source),
        quarantine=quarantine_frame(bad),
        lines=lines,
        ignored=ignored,
        quarantined=len(bad),
        missing=missing,
        lost_days=frozenset(lost_days),
        stretches=stretches,
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
