r"""kafka-authorizer.log, columnar: dictionary first, and only distinct messages are parsed.

    [2024-10-25 10:11:12,345] INFO Principal = ... (kafka.authorizer.logger)

A record begins with its time and ends with the logger's name at the end of a line. Names may hold
line breaks, so a record may have several lines; those are put together here. A line that begins
like a record inside of one that has not ended is a torn record or a forged one: no reading of it is
certain, and the piece goes to quarantine as it is. (A name that holds the end of a record, a line
break and a whole second record cannot be told from two records: Kafka escapes nothing.) Where the
open record stops at a place in which no name can be, it is torn for certain, and alone is bad.

The time has no zone; an option of the command sets it.

Lines of other loggers, as in a file that takes several, are counted and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from doorkeeper.acls.formats import authorizer_message, logged_principals
from doorkeeper.acls.formats.authorizer_message import (
    BEGIN,
    END,
    OTHER_RECORD,
    Bad,
    Message,
    Record,
    read_record,
)
from doorkeeper.acls.formats.commands import kafkas_word
from doorkeeper.acls.model import AclOperation, ResourceType
from doorkeeper_pipeline.errors import Damaged
from doorkeeper_pipeline.sources.envelopes import PLAIN
from doorkeeper_pipeline.sources.parsed import (
    DECISIONS,
    QUARANTINE,
    TIME_MARK,
    Parsed,
    breakage,
    join_pieces,
    quarantine_frame,
    sum_decisions,
)
from doorkeeper_pipeline.sources.possible_principals import excerpt
from doorkeeper_pipeline.sources.reading import INVALID_UTF8, cut_blocks, part_bytes, readable
from doorkeeper_pipeline.sources.recognising import AUTHORIZER_LOG, form_of_file
from doorkeeper_pipeline.sources.records import Records, records
from doorkeeper_pipeline.sources.times import utc_of_zone

SOURCE = AUTHORIZER_LOG
_END = END.encode()
OPERATIONS = tuple(member.name for member in AclOperation if member.value > AclOperation.ALL.value)
BOUNDARY = re.compile(rb" \(kafka\.authorizer\.logger\)\r?\n")
"""The text before the beginning of a record."""

_DECIDED = re.compile(r"Principal = .*? is (?:Allowed|Denied) [Oo]peration = ", re.DOTALL)
_NAMED = re.compile(_DECIDED.pattern + r"\w+ from host = \S+ on resource = \w+:", re.DOTALL)
OPEN_BYTES_MAX = 1 << 16
"""The longest record that waits for its end after a line which begins like another one: a name has
32,767 bytes at most, and where all lines lack their end the time must not grow with the square."""

TIME_AT, TIME_LENGTH = 1, 23
REST_AT = 26
"""Where the level begins."""

MESSAGE, IGNORED, BAD = 0, 1, 2
"""The kinds of the rest of a line."""

_MINUTE = pl.col("time").str.slice(0, 16)
_MARK = (
    (
        pl.col("time").str.slice(17, 2).cast(pl.Int64, strict=False).fill_null(0) * 1000
        + pl.col("time").str.slice(20, 3).cast(pl.Int64, strict=False).fill_null(0)
    )
    ** 2
).alias(TIME_MARK)
"""As ``parsed.mark_of``, of a time that is a text."""

_CUTS = {
    "time": pl.col("line").str.slice(TIME_AT, TIME_LENGTH),
    "rest": pl.col("line").str.slice(REST_AT).str.strip_suffix(END),
}
_FIELDS = {name: pl.Boolean() if name == "probe" else pl.String() for name in Message._fields}
MATCHING = "MatchingAcl"
_TYPES = {kafkas_word(member): member.name for member in ResourceType if member > ResourceType.ANY}
_PLAIN = (
    rf"^(?P<level>[A-Z]+) Principal = (?P<principal>{logged_principals.PLAIN}(?:[^ ]| [^i])+)"
    r" is (?P<outcome>Allowed|Denied)"
    rf" operation = (?P<operation>{'|'.join(OPERATIONS)}) from host = (?P<host>[^ /\\][^ ]*)"
    rf" on resource = (?P<resource_type>{'|'.join(_TYPES)}):LITERAL:(?P<resource_name>[^ \n]+)"
    r" for request = (?P<api>[A-Za-z]+) with resourceRefCount = (?P<references>[0-9]+)"
    r" based on rule (?:(?P<rule>SuperUser|DefaultAllow|DefaultDeny)"
    r"|MatchingAcl\(acl=StandardAcl[\[(](?P<rule_binding>resourceType=[A-Z_]+, resourceName=[^ ]+,"
    r" patternType=[A-Z]+, principal=(?:[^ ]| [^h])+, host=[^ ,]+, operation=[A-Z_]+,"
    r" permissionType=(?:ALLOW|DENY))[\])]\))$"
)
"""Messages of eras D and E without blanks in names: most of a real log."""

_FITS = (
    pl.col("rule_binding").is_null()
    | pl.col("rule_binding").str.contains(", principal=User:*, host=", literal=True)
    | pl.col("rule_binding").str.contains(
        pl.concat_str(pl.lit(", principal="), "principal", pl.lit(", host=")), literal=True
    )
)
"""Whether the ACL of the rule is of the principal of the request; others are read one by one."""

_AGREES = (
    pl.when(pl.col("rule_binding").is_null())
    .then((pl.col("rule") == "DefaultDeny") == (pl.col("outcome") == "Denied"))
    .otherwise(pl.col("rule_binding").str.ends_with("=DENY") == (pl.col("outcome") == "Denied"))
)
"""As ``authorizer_message.agrees``; the others are read one by one, and become bad."""

_NOTHING = (None,) * len(_FIELDS)
_NORMALISED = "normalised"
_MESSAGES = {
    "rest": pl.String(),
    "kind": pl.Int8(),
    "reason": pl.String(),
    _NORMALISED: pl.Boolean(),
    **_FIELDS,
}
_ODD = {
    "minute": pl.String(),
    "lines": pl.Int64(),
    TIME_MARK: pl.Int64(),
    "first": pl.String(),
    "last": pl.String(),
    "offset": pl.Int64(),
    **_FIELDS,
}


class _Frame(NamedTuple):
    """Regular records of a block, columnar, and the other pieces: (offset, bytes)."""

    lines: pl.DataFrame
    odd: list[tuple[int, bytes]]
    physical: int


def parse_parts(
    path: Path, how: str, zone: str, start: int = 0, end: int | None = None, *, pattern: str = ""
) -> Iterator[Parsed]:
    """Parse the log between two offsets, which must be beginnings of records; yield it in parts.

    ``pattern`` is a layout of log4j, for logs that are not recognised without. A decision of two
    parts is in both. So a compressed file, which has no ranges, takes no more memory than a part.

    Blocks are only grouped by the text of their lines, which is parsed once for all of a part. A
    piece that is not regular is parsed with its block: kept, it may be all of a file that unpacks
    to no end.
    """
    form = form_of_file(path, how, SOURCE, pattern)
    size = part_bytes(how)
    if form.envelope != PLAIN or form.layout:
        yield from _parse_records(records(path, how, form, start, end), zone, size)
        return
    regular: list[_Frame] = []
    odd: list[Parsed] = []
    at = begun = start
    try:
        for offset, block in cut_blocks(path, how, start, end, _last_boundary):
            frame = _columns(offset, block)
            odd.append(_odd(frame.odd, zone))
            regular.append(_group_texts(frame._replace(odd=[])))
            at = offset + len(block)
            # Until they are parsed, each line takes some 800 bytes: its time, and joins of it.
            if at - begun >= size:
                yield _parse_blocks(regular, odd, zone)
                regular, odd, begun = [], [], at
    except Damaged as error:
        odd.append(breakage(at, error))
    if regular or odd:
        yield _parse_blocks(regular, odd, zone)


def _parse_blocks(regular: list[_Frame], odd: list[Parsed], zone: str) -> Parsed:
    """Parse the blocks of a part together."""
    rest = join_pieces(odd)
    return _parse(_together(regular), rest, zone) if regular else rest


def _parse_records(blocks: Iterator[Records], zone: str, size: int) -> Iterator[Parsed]:
    """Parse records of other layouts; equal texts are grouped block by block, as above."""
    frames: dict[str, list[_Frame]] = {zone: [], "UTC": []}
    odd: list[Parsed] = []
    held = 0

    def parse() -> Parsed:
        parts = [
            _parse(_together(zone_frames), Parsed(), name)
            for name, zone_frames in frames.items()
            if zone_frames
        ]
        return join_pieces([*parts, *odd])

    for block in blocks:
        frame = _Frame(block.rows.select("time", "rest", "offset"), [], len(block.rows))
        held += int(frame.lines["rest"].str.len_bytes().sum())
        grouped = frame.lines.lazy().group_by("rest").agg("time", "offset").collect()
        frames["UTC" if block.is_utc else zone].append(frame._replace(lines=grouped))
        odd.append(block.others)
        if held >= size:
            yield parse()
            frames, odd, held = {zone: [], "UTC": []}, [], 0
    if odd:
        yield parse()


def _last_boundary(data: bytes, searched: int) -> int:
    """Return where the last record begins that is not complete, 0 when none ends."""
    at = data.rfind(_END, max(0, searched - len(_END) - 2))
    while at >= 0:
        match = BOUNDARY.match(data, at)
        if match is not None:
            return match.end()
        at = data.rfind(_END, 0, at)
    return 0


def _columns(offset: int, block: memoryview) -> _Frame:
    """Split a block into its regular records and the rest."""
    breaks = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))
    ends = breaks if block[-1] == ord("\n") else np.append(breaks, len(block))
    starts = np.concatenate(([0], ends[:-1] + 1)).astype(np.int64)
    try:
        texts = _texts(block, starts)
    except pa.ArrowInvalid:
        none = pl.DataFrame(schema={"line": pl.String(), "offset": pl.Int64()})
        return _Frame(none, _group(offset, block, starts, ends, None), len(ends))
    lines = texts.with_columns(
        begins=(pl.col("line").str.starts_with("["))
        & (pl.col("line").str.slice(24, 2) == "] ")
        & (pl.col("line").str.slice(20, 1) == ","),
        complete=pl.col("line").str.ends_with(END),
    )
    # A record of one line: it begins, it ends, and the line before it ended one.
    regular = (
        lines["begins"] & lines["complete"] & lines["complete"].shift(1, fill_value=True)
    ).to_numpy()
    chosen = lines.filter(pl.Series(regular)).select(
        "line", offset=pl.Series(starts[regular] + offset)
    )
    odd = [] if regular.all() else _group(offset, block, starts, ends, regular)
    return _Frame(chosen, odd, len(ends))


def _texts(block: memoryview, starts: npt.NDArray[np.int64]) -> pl.DataFrame:
    """Return lines as a column without copying them: they are where the block has them."""
    offsets = np.append(starts, len(block))
    array = pa.LargeStringArray.from_buffers(
        len(starts), pa.py_buffer(offsets), pa.py_buffer(block)
    )
    array.validate(full=True)
    column = pl.Series("line", array)
    return pl.DataFrame({"line": column.str.strip_chars_end("\r\n")})


def _group(
    offset: int,
    block: memoryview,
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    regular: npt.NDArray[np.bool_] | None,
) -> list[tuple[int, bytes]]:
    """Return the irregular pieces: records of several lines, and other text."""
    indexes = range(len(starts)) if regular is None else np.flatnonzero(~regular)
    pieces: list[tuple[int, bytes]] = []
    first = last = -1  # the lines of the piece that is being put together
    in_record = is_named = False

    def close() -> None:
        if first >= 0:
            pieces.append((offset + int(starts[first]), bytes(block[starts[first] : ends[last]])))

    for index in map(int, indexes):
        line = str(block[starts[index] : ends[index]], "utf-8", "replace").rstrip("\r")
        begins = BEGIN.match(line) is not None
        if first >= 0 and begins and in_record and not is_named:
            in_record, is_named = _may_go_on(block[starts[first] : ends[last]])
        is_too_long = first >= 0 and starts[index] - starts[first] > OPEN_BYTES_MAX
        is_next = begins and (not in_record or is_too_long)
        if first >= 0 and (last + 1 != index or is_next):
            close()
            first = -1
        if first < 0:
            first, in_record, is_named = index, begins, False
        last = index
        if line.endswith(END) or (first == index and OTHER_RECORD.match(line)):
            close()
            first = -1
    close()
    return pieces


def _group_texts(frame: _Frame) -> _Frame:
    """Return a block with one row for each text: the times of its lines and their offsets."""
    lines = frame.lines.lazy().with_columns(**_CUTS).group_by("rest").agg("time", "offset")
    return frame._replace(lines=lines.collect())


def _together(blocks: list[_Frame]) -> _Frame:
    """Return the blocks of a range as one."""
    if len(blocks) == 1:
        return blocks[0]
    return _Frame(
        lines=pl.concat([block.lines for block in blocks])
        .group_by("rest")
        .agg(pl.col("time").explode(), pl.col("offset").explode()),
        odd=[],
        physical=sum(block.physical for block in blocks),
    )


def _may_go_on(piece: memoryview) -> tuple[bool, bool]:
    """Say whether a record that has not ended stopped inside of a name, which may have lines.

    And whether that is the name of the resource: then more lines do not change the answer.
    """
    text = BEGIN.sub("", str(piece, "utf-8", "replace"), count=1)
    if _DECIDED.match(text):
        is_named = _NAMED.match(text) is not None
        return is_named, is_named
    return text.startswith(("Principal = ", *authorizer_message.NOTES)), False


def _parse(frame: _Frame, odd: Parsed, zone: str) -> Parsed:
    """Return the decisions of the records of a range, with the odd records."""
    read_ones = frame.lines.join(_messages(frame.lines.select("rest")), on="rest")
    messages = read_ones.filter(pl.col("kind") == MESSAGE)
    # Several messages may say the same decision: they differ in the reference count alone.
    distinct = messages.select(list(_FIELDS)).unique().with_row_index("said")
    times = (
        messages.join(distinct, on=list(_FIELDS), nulls_equal=True)
        .select("said", "time")
        .explode("time")
        .group_by("said", minute=_MINUTE)
        .agg(
            _MARK.sum(),
            lines=pl.len().cast(pl.Int64),
            first=pl.col("time").min(),
            last=pl.col("time").max(),
        )
    )
    decisions = _decisions(times.join(distinct, on="said"), zone)
    untimed = decisions.filter(pl.col("first_ts").is_null()).select(
        minute="local_minute", reason=pl.lit(f"this time does not exist in the zone {zone}")
    )
    broken = [
        _quarantine(_lines(read_ones.filter(pl.col("kind") == BAD))),
        _quarantine(
            _lines(messages.drop("reason") if len(untimed) else messages.clear().drop("reason"))
            .with_columns(minute=_MINUTE)
            .join(untimed.unique().lazy(), on="minute")
        ),
    ]
    timed = decisions.filter(pl.col("first_ts").is_not_null()).select(list(DECISIONS))
    ignored = read_ones.filter(pl.col("kind") == IGNORED)["time"].list.len().sum()
    regular = pl.concat(broken).unique("byte_offset")
    normalised = messages.filter(_NORMALISED)["time"].list.len().sum()
    return Parsed(
        decisions=sum_decisions(pl.concat([timed, odd.decisions])) if len(odd.decisions) else timed,
        quarantine=pl.concat([regular, odd.quarantine]).sort("byte_offset"),
        lines=frame.physical,
        ignored=int(ignored) + odd.ignored,
        quarantined=len(regular) + odd.quarantined,
        normalised=int(normalised) + odd.normalised,
        damaged=odd.damaged,
    )


def _messages(rests: pl.DataFrame) -> pl.DataFrame:
    """Parse each rest of a line; return its kind, and why it is bad, too."""
    groups = rests.with_columns(fields=pl.col("rest").str.extract_groups(_PLAIN)).unnest("fields")
    is_torn = pl.col("principal").str.contains("Principal = ", literal=True)
    is_plain = pl.col("principal").is_not_null() & _FITS & _AGREES & ~is_torn
    plain = groups.filter(is_plain)
    rows = []
    for rest in groups.filter(~is_plain)["rest"]:
        level, _, text = rest.partition(" ")
        result = authorizer_message.read(level, text)
        match result:
            case Message():
                rows.append((rest, MESSAGE, None, is_normalised(text, result), *result))
            case Bad(reason):
                rows.append((rest, BAD, reason, False, *_NOTHING))
            case _:
                rows.append((rest, IGNORED, None, False, *_NOTHING))
    others = pl.DataFrame(rows, schema=_MESSAGES, orient="row")
    return pl.concat([_plain_messages(plain), others])


def is_normalised(text: str, message: Message) -> bool:
    """Say whether a text has another principal than its message: an object, taken apart."""
    return not text.removeprefix("Principal = ").startswith(f"{message.principal} is ")


def _plain_messages(groups: pl.DataFrame) -> pl.DataFrame:
    """Return the messages that the one expression could read: nothing in them has two readings."""
    return groups.with_columns(
        kind=pl.when(pl.col("references") == "0").then(IGNORED).otherwise(MESSAGE).cast(pl.Int8),
        reason=pl.lit(None, pl.String),
        normalised=pl.lit(value=False),
        resource_type=pl.col("resource_type").replace_strict(
            _TYPES, default=None, return_dtype=pl.String
        ),
        outcome=pl.col("outcome").str.to_uppercase(),
        rule=pl.when(pl.col("rule_binding").is_null()).then("rule").otherwise(pl.lit(MATCHING)),
        rule_binding=pl.col("rule_binding").fill_null(""),
        probe=pl.col("level") == "TRACE",
    ).select(list(_MESSAGES))


def _decisions(grouped: pl.DataFrame, zone: str) -> pl.DataFrame:
    """Return the messages of minutes as decisions; times that are none in the zone are null."""
    utc = {
        name: utc_of_zone(pl.col(column), zone)
        for name, column in (("first_ts", "first"), ("last_ts", "last"))
    }
    return grouped.with_columns(**utc).with_columns(
        minute=pl.col("first_ts").dt.truncate("1m"),
        day=pl.col("first_ts").dt.date(),
        source=pl.lit(SOURCE),
        cluster=pl.lit(""),
        count=pl.col("lines"),
        # With the clock set back inside of a minute the earlier text is the later time.
        first_ts=pl.min_horizontal("first_ts", "last_ts"),
        last_ts=pl.max_horizontal("first_ts", "last_ts"),
        local_minute=pl.col("minute"),
    )


def _lines(said: pl.DataFrame) -> pl.LazyFrame:
    """Return a row for each line of these texts."""
    return said.lazy().explode("time", "offset")


def _quarantine(said: pl.LazyFrame) -> pl.DataFrame:
    """Return lines, as they stood in the file, each with its place and reason."""
    line = pl.format("[{}] {}{}", "time", "rest", pl.lit(END))
    return (
        said.select("reason", byte_offset="offset", line=line)
        .select(
            "byte_offset",
            byte_length=pl.col("line").str.len_bytes().cast(pl.Int64),
            reason="reason",
            text=pl.col("line").map_elements(excerpt, pl.String),
        )
        .select(list(QUARANTINE))
        .collect()
    )


def _odd(pieces: list[tuple[int, bytes]], zone: str) -> Parsed:
    """Parse the pieces that are not one line each."""
    records = []
    bad: list[tuple[int, int, str, str]] = []
    ignored = quarantined = 0
    for offset, piece in pieces:
        text = readable(piece).rstrip("\r\n")
        record = _record(piece, text)
        if isinstance(record, str):
            bad.append((offset, len(piece), record, text))
            quarantined += piece.count(b"\n") + 1
        elif record is None:
            ignored += piece.count(b"\n") + 1
        else:
            records.append((offset, piece, record))
    rows = []
    for offset, piece, (time, message) in records:
        mark = int(time[17:19] + time[20:23]) ** 2
        rows.append((time[:16], 1 + piece.count(b"\n"), mark, time, time, offset, *message))
    decisions = _decisions(pl.DataFrame(rows, schema=_ODD, orient="row"), zone)
    untimed = decisions.filter(pl.col("first_ts").is_null())
    texts = {offset: readable(piece) for offset, piece, _ in records}
    bad += [
        (at, len(texts[at].encode()), f"this time does not exist in the zone {zone}", texts[at])
        for at in untimed["offset"]
    ]
    return Parsed(
        decisions=decisions.filter(pl.col("first_ts").is_not_null())
        .with_columns(count=pl.lit(1, pl.Int64))
        .select(list(DECISIONS)),
        quarantine=quarantine_frame(bad),
        ignored=ignored,
        quarantined=quarantined + int(untimed["lines"].sum()),
        normalised=sum(
            is_normalised(piece.decode("utf-8", "replace").partition("Principal = ")[2], message)
            for _, piece, (_, message) in records
        ),
    )


def _record(piece: bytes, text: str) -> tuple[str, Message] | str | None:
    """Return time and message of a piece; why it is bad; None when it says no decision."""
    match read_record(text):
        case Record(time, message):
            is_utf8 = text.encode() == piece.rstrip(b"\r\n")
            return (time, message) if is_utf8 else INVALID_UTF8
        case Bad(reason):
            return reason
        case _:
            return None
