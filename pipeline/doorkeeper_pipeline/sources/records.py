"""Records of an authorizer's log in other layouts than Kafka's, or in envelopes of collectors.

A record begins with a line that begins as its layout says; lines that do not are of the one before,
for names may hold line breaks. As in ``authorizer_log``, a torn or forged record has no decision
that fits its rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from doorkeeper.acls.formats.authorizer_message import DECISION
from doorkeeper_pipeline.errors import Damaged
from doorkeeper_pipeline.sources import layouts
from doorkeeper_pipeline.sources.envelopes import Rejected, Text, Unwrapping
from doorkeeper_pipeline.sources.layouts import Layout
from doorkeeper_pipeline.sources.parsed import Parsed, breakage, join_pieces, quarantine_frame
from doorkeeper_pipeline.sources.reading import whole_lines
from doorkeeper_pipeline.sources.recognising import Form
from doorkeeper_pipeline.sources.times import utc_texts

RECORD_LINES_MAX = 8
"""Lines of a record that is followed by other text, at most: names may hold line breaks."""

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
    """Yield the records of a range, block by block."""
    layout = form.layout or layouts.compile_pattern(layouts.KAFKA)
    unwrapping = Unwrapping(form.envelope)
    at = start
    broken: Parsed | None = None
    try:
        for offset, block in whole_lines(path, how, start, end):
            at = offset
            for line in block.removesuffix(b"\n").split(b"\n"):
                unwrapping.add_line(at, line)
                at += len(line) + 1
            yield _records_of(unwrapping.take(), layout)
    except Damaged as error:
        broken = breakage(at, error)
    unwrapping.end_line()
    rest = _records_of(unwrapping.take(), layout)
    yield rest if broken is None else rest._replace(others=join_pieces([rest.others, broken]))


def _records_of(taken: tuple[list[Text], list[Rejected], int], layout: Layout) -> Records:
    lines, bad, left_out = taken
    rows = _json_rows(lines) if layout.is_json else _text_rows(lines, layout)
    expected = (
        "a JSON object with time, level, message and logger"
        if layout.is_json
        else (f"the layout {layout.pattern}")
    )
    unread = rows.filter(pl.col("message").is_null())
    blank = unread.filter(pl.col("text").str.strip_chars() == "")
    unread = unread.filter(pl.col("text").str.strip_chars() != "")
    readable = rows.filter(pl.col("message").is_not_null())
    ours = readable.filter(_is_authorizer())
    times, is_utc = utc_texts(ours["time"], layout)
    ours = ours.with_columns(times.alias("time"))
    untimed = ours.filter(pl.col("time").is_null())
    ours = ours.filter(pl.col("time").is_not_null()).select(
        "time", rest=pl.concat_str(_LEVEL, pl.lit(" "), "message"), offset="offset"
    )
    bad += [
        (at, len(text), f"not a record: expected {expected}", text)
        for at, text in unread.select("offset", "text").iter_rows()
    ]
    bad += [
        (at, len(text), "the time is none", text)
        for at, text in untimed.select("offset", "text").iter_rows()
    ]
    ignored = len(readable) - len(ours) - len(untimed) + len(blank) + left_out
    others = Parsed(
        quarantine=quarantine_frame(bad),
        lines=len(bad) + ignored,
        ignored=ignored,
        quarantined=len(bad),
    )
    return Records(ours, others, is_utc=is_utc)


_LEVEL = pl.col("level").str.to_uppercase().replace("T", "TRACE")
"""The level as Kafka has it: layouts may shorten it, and print it in lower case."""


def _text_rows(lines: list[tuple[int, str]], layout: Layout) -> pl.DataFrame:
    frame = pl.DataFrame(lines, schema=_RAW, orient="row")
    begins = frame["text"].str.contains(layout.begin)
    if not begins.all():
        frame = _together(frame.with_columns(begins.cum_sum().alias("number")), layout)
    groups = frame.with_columns(
        pl.col("text").str.extract_groups(layout.record).alias("groups")
    ).unnest("groups")
    missing = [pl.lit(None, pl.String).alias(name) for name in _PARTS if name not in groups.columns]
    return (
        groups.with_columns(*missing)
        .with_columns(pl.col("level").fill_null("INFO"))
        .select(list(_ROWS))
    )


def _together(frame: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """Join the lines of a number to a record, and leave those apart that do not belong to it."""
    whole = layouts.expression(layout)
    groups = frame.group_by("number", maintain_order=True).agg("offset", "text")
    rows: list[tuple[int, str]] = []
    for offsets, texts in groups.select("offset", "text").iter_rows():
        count = len(texts)
        # A stack trace may follow a whole record.
        if count > 1 and not whole.match("\n".join(texts)):
            fewer = range(min(count - 1, RECORD_LINES_MAX), 0, -1)
            count = next((n for n in fewer if whole.match("\n".join(texts[:n]))), count)
        rows.append((offsets[0], "\n".join(texts[:count])))
        if texts[count:]:
            rows.append((offsets[count], "\n".join(texts[count:])))
    return pl.DataFrame(rows, schema=_RAW, orient="row")


def _json_rows(lines: list[tuple[int, str]]) -> pl.DataFrame:
    none = (None, None, None, None)
    rows = [(at, text, *(layouts.json_record(text.encode()) or none)) for at, text in lines]
    return pl.DataFrame(rows, schema=_ROWS, orient="row")


def _is_authorizer() -> pl.Expr:
    """Return the condition of ``layouts.is_authorizer``, or that there is a decision within."""
    logger, begins = pl.col("logger"), pl.col("message").str.starts_with(layouts.MESSAGE_BEGIN)
    is_decision = pl.col("message").str.contains(DECISION)
    is_end = pl.lit(layouts.LOGGER).str.ends_with(pl.lit(".") + logger)
    return (
        pl.when(logger.is_null() | (logger == ""))
        .then(begins)
        .otherwise((logger == layouts.LOGGER) | (is_end & begins) | is_decision)
    )
