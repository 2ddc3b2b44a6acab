"""Files with one JSON object a line: the frame that the trail, OCSF and CloudEvents share.

An adapter turns the bytes of a line into rows; it raises ValueError for a line that it cannot read,
and the line goes to quarantine with that reason.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from doorkeeper_pipeline.sources.parsed import (
    DECISIONS,
    TIME_MAX_US,
    Parsed,
    join_pieces,
    no_decisions,
    quarantine_frame,
    sum_decisions,
)
from doorkeeper_pipeline.sources.reading import RECORD_BYTES_MAX, blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
COUNT_MAX = 1 << 40
"""How often one line may say that something happened: sums of these fit into the tables."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A line says that so many decisions are not in the file."""

    count: int


class Decided(NamedTuple):
    """A decision in a line, or several that the line counts; times are microseconds since 1970."""

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


Line = list[Decided] | Missing | None
"""The decisions of a line; None if it is known and has none."""

_ROWS = {
    **{
        name: pl.Boolean()
        if name == "probe"
        else pl.Int64()
        if name in {"count", "first_us", "last_us"}
        else pl.String()
        for name in Decided._fields
    },
}


def read(
    path: Path,
    how: str,
    source: str,
    adapter: Callable[[bytes], Line],
    start: int = 0,
    end: int | None = None,
) -> Parsed:
    """Parse the lines between two offsets, which must be beginnings of lines."""
    return join_pieces(
        _parse(offset, block, source, adapter) for offset, block in _whole(path, how, start, end)
    )


def _whole(path: Path, how: str, start: int, end: int | None) -> Iterator[tuple[int, bytes]]:
    """Yield blocks that end where a line ends."""
    rest, rest_at = b"", start
    for at, block in blocks(path, how, start, end):
        data, rest_at = rest + block, at - len(rest)
        cut = data.rfind(b"\n") + 1
        if cut == 0 and len(data) < len(block) + RECORD_BYTES_MAX:
            rest = data
            continue
        cut = cut or len(data)
        yield rest_at, data[:cut]
        rest, rest_at = data[cut:], rest_at + cut
    if rest:
        yield rest_at, rest


def _parse(offset: int, block: bytes, source: str, adapter: Callable[[bytes], Line]) -> Parsed:
    rows: list[Decided] = []
    bad = []
    ignored = missing = lines = 0
    for line in block.split(b"\n"):
        if line.strip():
            lines += 1
            try:
                found = adapter(line)
            except ValueError as error:
                text = line.decode("utf-8", "replace")
                bad.append((offset, len(line), _one_line(error), text))
            else:
                match found:
                    case Missing(count):
                        missing += count
                        ignored += 1
                    case None:
                        ignored += 1
                    case _:
                        rows += found
        offset += len(line) + 1
    return Parsed(
        decisions=_frame(rows, source),
        quarantine=quarantine_frame(bad),
        lines=lines,
        ignored=ignored,
        quarantined=len(bad),
        missing=missing,
    )


def check_row(row: Decided) -> Decided:
    """Return a row whose numbers make sense.

    Raises:
        ValueError: a count is not positive or too large, or a time is none.

    """
    if not 1 <= row.count <= COUNT_MAX:
        raise ValueError(f"count: found {row.count}; expected is 1 to {COUNT_MAX}")
    if not 0 < row.first_us <= row.last_us <= TIME_MAX_US:
        raise ValueError(f"time: found {row.first_us} to {row.last_us} microseconds since 1970")
    if not row.principal or not row.resource_name:
        raise ValueError("the principal or the name of the resource is empty")
    return row


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
        .with_columns(minute=pl.col("first_ts").dt.truncate("1m"), day=pl.col("first_ts").dt.date())
    )
    return sum_decisions(frame.select(list(DECISIONS)))


def _one_line(error: ValueError) -> str:
    return " ".join(str(error).split())[:300]
