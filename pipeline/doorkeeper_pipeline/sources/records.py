"""Records of an authorizer's log in other layouts than Kafka's, or in envelopes of collectors.

A record begins with a line that begins as its layout says; lines that do not are of the one before,
for names may hold line breaks. As in ``authorizer_log``, a torn or forged record has no decision
that fits its rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from doorkeeper_pipeline.errors import Damaged
from doorkeeper_pipeline.sources import envelopes, layouts
from doorkeeper_pipeline.sources.json_lines import whole_lines
from doorkeeper_pipeline.sources.parsed import Parsed, breakage, quarantine_frame
from doorkeeper_pipeline.sources.times import utc_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from doorkeeper_pipeline.sources.layouts import Layout
    from doorkeeper_pipeline.sources.recognising import Form

_RAW = {"offset": pl.Int64(), "text": pl.String()}
_PARTS = ("time", "level", "message", "logger")
_ROWS = {"offset": pl.Int64(), "text": pl.String(), **dict.fromkeys(_PARTS, pl.String())}


class Records(NamedTuple):
    """The records of a block: time, rest (level and message) and offset; and other lines.

    ``is_utc``: the times had a zone, and are UTC.
    """

    rows: pl.DataFrame
    others: Parsed
    is_utc: bool


def records(
    path: Path, how: str, form: Form, start: int = 0, end: int | None = None
) -> Iterator[Records]:
    """Yield the records of a file, block by block."""
    layout = form.layout or layouts.compile_pattern(layouts.KAFKA)
    at = start
    seen: set[str] = set()
    try:
        for offset, block in whole_lines(path, how, start, end):
            yield _records_in(offset, block, form.envelope, layout, seen)
            at = offset + len(block)
    except Damaged as error:
        yield Records(_no_rows(), breakage(at, error), is_utc=False)


def _records_in(
    offset: int, block: bytes, envelope: str, layout: Layout, seen: set[str]
) -> Records:
    lines, bad, repeated = _unwrap_lines(offset, block, envelope, seen)
    rows = _json_rows(lines) if layout.is_json else _text_rows(lines, layout)
    expected = (
        "a JSON object with time, level, message and logger"
        if layout.is_json
        else (f"the layout {layout.pattern}")
    )
    unread = rows.filter(pl.col("message").is_null())
    blank = unread.filter(pl.col("text").str.strip_chars() == "")
    unread = unread.filter(pl.col("text").str.strip_chars() != "")
    found = rows.filter(pl.col("message").is_not_null())
    ours = found.filter(_is_authorizer())
    times, is_utc = utc_texts(ours["time"], layout)
    ours = ours.with_columns(times.alias("time"))
    untimed = ours.filter(pl.col("time").is_null())
    ours = ours.filter(pl.col("time").is_not_null()).select(
        "time", rest=pl.concat_str("level", pl.lit(" "), "message"), offset="offset"
    )
    bad += [
        (at, len(text), f"no record: expected is {expected}", text)
        for at, text in unread.select("offset", "text").iter_rows()
    ]
    bad += [
        (at, len(text), "the time is none", text)
        for at, text in untimed.select("offset", "text").iter_rows()
    ]
    ignored = len(found) - len(ours) - len(untimed) + len(blank) + repeated
    others = Parsed(
        quarantine=quarantine_frame(bad),
        lines=len(bad) + ignored,
        ignored=ignored,
        quarantined=len(bad),
    )
    return Records(ours, others, is_utc=is_utc)


def _unwrap_lines(
    offset: int, block: bytes, envelope: str, seen: set[str]
) -> tuple[list[tuple[int, str]], list[tuple[int, int, str, str]], int]:
    """Return the lines in their envelopes, each with its offset; and how many came again.

    Places of records in a topic are added to those that were seen.
    """
    lines: list[tuple[int, str]] = []
    repeated = 0
    bad: list[tuple[int, int, str, str]] = []
    begin, parts = 0, b""
    for line in block.removesuffix(b"\n").split(b"\n"):
        try:
            found = envelopes.unwrap(envelope, line)
            content = parts + found.content
            text = content.decode("utf-8").removesuffix("\r")
        except ValueError as error:
            bad.append((offset, len(line), str(error), line.decode("utf-8", "replace")))
            parts = b""
        else:
            begin = begin if parts else offset
            parts = content if found.partial else b""
            if found.identity in seen:
                repeated += 1
            elif not found.partial:
                lines.append((begin, text))
            if found.identity:
                seen.add(found.identity)
        offset += len(line) + 1
    return lines, bad, repeated


def _text_rows(lines: list[tuple[int, str]], layout: Layout) -> pl.DataFrame:
    frame = pl.DataFrame(lines, schema=_RAW, orient="row")
    begins = frame["text"].str.contains(layout.begin)
    if not begins.all():
        number = begins.cast(pl.UInt32).cum_sum()
        frame = (
            frame.with_columns(number.alias("number"))
            .group_by("number", maintain_order=True)
            .agg(pl.col("offset").first(), pl.col("text").str.join("\n"))
        )
    groups = frame.with_columns(
        pl.col("text").str.extract_groups(layout.record).alias("groups")
    ).unnest("groups")
    missing = [pl.lit(None, pl.String).alias(name) for name in _PARTS if name not in groups.columns]
    return (
        groups.with_columns(*missing)
        .with_columns(pl.col("level").fill_null("INFO"))
        .select(list(_ROWS))
    )


def _json_rows(lines: list[tuple[int, str]]) -> pl.DataFrame:
    none = (None, None, None, None)
    rows = [(at, text, *(layouts.json_record(text.encode()) or none)) for at, text in lines]
    return pl.DataFrame(rows, schema=_ROWS, orient="row")


def _is_authorizer() -> pl.Expr:
    """Return the condition of ``layouts.is_authorizer``."""
    logger, begins = pl.col("logger"), pl.col("message").str.starts_with(layouts.MESSAGE_BEGIN)
    is_end = pl.lit(layouts.LOGGER).str.ends_with(pl.lit(".") + logger)
    return (
        pl.when(logger.is_null() | (logger == ""))
        .then(begins)
        .otherwise((logger == layouts.LOGGER) | (is_end & begins))
    )


def _no_rows() -> pl.DataFrame:
    return pl.DataFrame(schema={"time": pl.String(), "rest": pl.String(), "offset": pl.Int64()})
