"""Layouts of log lines, as log4j and log4j2 make them from a pattern, or as JSON.

    [%d] %p %m (%c)%n                  Kafka's own, read by columns in ``authorizer_log``
    %d{ISO8601} %p %m (%c) [%t]%n      Strimzi
    {"instant":{...},"level":...}      JsonLayout, and JsonTemplateLayout's templates

A layout becomes one expression, which both Python and Polars understand.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from doorkeeper.acls.formats.authorizer_message import DECISION
from doorkeeper_pipeline.errors import PipelineError

KAFKA = "[%d] %p %m (%c)%n"
KNOWN = (
    "%d %p %m (%c) [%t]%n",
    "%d %-5p [%t] %c{1}:%L - %m%n",
    "%d %p [%t] %c - %m%n",
    "[%d] %p [%t] %m (%c)%n",
    "[%d] %p %m (%c)%n",
    "%d %p %m (%c)%n",
    "%d %p %c: %m%n",
    "[%d] [%p] [%c] %m%n",
)
"""Layouts that are recognised, in the order in which they are tried."""

LOGGER = "kafka.authorizer.logger"
MESSAGE_BEGIN = "Principal = "

ISO = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|[+-]\d\d(?::?\d\d)?))?"
_NAMED_TIMES = {
    "": "",
    "DEFAULT": "",
    "DEFAULT_MICROS": "",
    "ISO8601": "",
    "ISO8601_OFFSET_DATE_TIME_HHMM": "",
    "ISO8601_OFFSET_DATE_TIME_HHCMM": "",
    "COMPACT": "yyyyMMddHHmmssSSS",
    "DATE": "dd MMM yyyy HH:mm:ss,SSS",
}
"""Names of log4j's formats of times, as patterns; empty for forms of ISO 8601."""

EPOCHS = {"UNIX": 1000, "UNIX_MILLIS": 1}
"""Milliseconds of the units of times that are numbers."""

_PIECES = (
    ("yyyy", r"\d{4}", "%Y"),
    ("MMM", r"[A-Z][a-z]{2}", "%b"),
    ("MM", r"\d\d", "%m"),
    ("dd", r"\d\d", "%d"),
    ("HH", r"\d\d", "%H"),
    ("mm", r"\d\d", "%M"),
    ("ss", r"\d\d", "%S"),
    ("nnnnnnnnn", r"\d{9}", "%9f"),
    ("SSSSSSSSS", r"\d{9}", "%9f"),
    ("SSSSSS", r"\d{6}", "%6f"),
    ("SSS", r"\d{3}", "%3f"),
    ("X" * 3, r"(?:Z|[+-]\d\d:\d\d)", "%#z"),
    ("XX", r"(?:Z|[+-]\d{4})", "%#z"),
    ("X", r"(?:Z|[+-]\d\d)", "%#z"),
    ("Z", r"[+-]\d{4}", "%z"),
)
_CONVERSIONS = {
    "time": ("date", "d"),
    "level": ("level", "p"),
    "message": ("message", "msg", "m"),
    "logger": ("logger", "c"),
    "end": ("n",),
    "other": (
        *("threadName", "thread", "tn", "tid", "t", "line", "L", "file", "F", "class", "C"),
        *("method", "M", "location", "l", "relative", "r", "NDC", "x", "mdc", "MDC", "X", "pid"),
        *("processId", "sn", "xEx", "xThrowable", "ex", "throwable", "marker", "hostName"),
    ),
}
_KINDS = {name: kind for kind, names in _CONVERSIONS.items() for name in names}
_TOKEN = re.compile(
    r"%(?:(?P<percent>%)|(?P<width>-?\d+)?(?:\.-?\d+)?"
    rf"(?P<name>{'|'.join(sorted(_KINDS, key=len, reverse=True))})(?P<options>(?:\{{[^}}]*\}})*))"
)
_SPECIAL = frozenset(r".^$*+?{}[]|()\-#&~/")


class Layout(NamedTuple):
    """A layout: its pattern, the expressions of a record and of its begin, its form of times."""

    pattern: str
    record: str
    begin: str
    time: str

    @property
    def is_json(self) -> bool:
        """Say whether a line is a JSON object."""
        return not self.record


JSON = Layout("JSON", "", r'\{\s*"', "")


def compile_pattern(pattern: str) -> Layout:
    """Return the layout of a pattern of log4j or log4j2.

    Raises:
        PipelineError: a conversion is unknown, or there is no time, or no message after it.

    """
    parts: list[str] = []
    begin = time = ""
    seen: set[str] = set()
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at) if pattern[at] == "%" else None
        if pattern[at] == "%" and token is None:
            raise PipelineError(
                f"--pattern {pattern!r}: found {pattern[at : at + 6]!r}; allowed: %d, %p, %m, %c,"
                " %t, %L, %n and their long names"
            )
        if token is None or token["percent"]:
            parts.append(_escape(pattern[at]))
            at += 1 if token is None else 2
            continue
        at = token.end()
        kind = _KINDS[token["name"]]
        if kind in seen and kind != "other":
            raise PipelineError(f"--pattern {pattern!r}: found {token[0]!r} twice")
        seen.add(kind)
        if kind == "message":
            begin = "".join(parts)
        if kind == "time":
            expression, time = _time(pattern, token["options"])
            parts.append(f"(?P<time>{expression})")
        else:
            parts.append(_EXPRESSIONS[kind])
    if not {"time", "message"} <= seen or "(?P<time>" not in begin:
        raise PipelineError(
            f"--pattern {pattern!r}: expected %d, the time, and then %m, the message"
        )
    return Layout(pattern, rf"(?s)\A{''.join(parts)}\z", rf"\A{begin}", time)


def known(pattern: str = "") -> list[Layout]:
    """Return the layouts that are tried, the one of a pattern first.

    Raises:
        PipelineError: the pattern is none.

    """
    return [compile_pattern(text) for text in (pattern, *KNOWN) if text]


def fitting(text: str, among: Iterable[Layout]) -> tuple[Layout, bool] | None:
    """Return the layout of a record, and whether the record is one of the authorizer for certain.

    It is that of the authorizer's, else of any that fits; None if none does.
    """
    any_fit: Layout | None = None
    for layout in among:
        match = expression(layout).match(text.rstrip("\r"))
        if match is None:
            continue
        values = match.groupdict()
        if is_authorizer(values.get("logger"), values["message"]):
            return layout, True
        # Without a logger and the words of the authorizer anything might be a message.
        any_fit = any_fit or (layout if values.get("logger") else None)
    return None if any_fit is None else (any_fit, False)


def is_authorizer(logger: str | None, message: str) -> bool:
    """Say whether a record is one of the authorizer: by its logger, or as it says a decision.

    A short name of the logger is its end, or a letter for each part of it.
    """
    if logger is None or logger == "":
        return message.startswith(MESSAGE_BEGIN)
    is_end = LOGGER.endswith(f".{logger}") and message.startswith(MESSAGE_BEGIN)
    return logger == LOGGER or is_end or re.match(DECISION, message) is not None


def expression(layout: Layout) -> re.Pattern[str]:
    """Return the expression of a record for Python."""
    return re.compile(layout.record.replace(r"\z", r"\Z"))


def json_record(line: bytes) -> tuple[str, str, str, str] | None:
    """Return time, level, message and logger of a line of a JSON layout; None if it is none."""
    try:
        fields = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    time, level = _json_time(fields), _json_level(fields)
    message, logger = _first(fields, *_MESSAGES), _first(fields, *_LOGGERS)
    if time is None or level is None or message is None or logger is None:
        return None
    return time, level, message, logger


_MESSAGES = ("message", "short_message")
_LOGGERS = ("loggerName", "logger_name", "logger", "log.logger", "name", "_logger", "_loggerName")
_LEVELS = ("level", "log.level", "severity")
_SYSLOG_LEVELS = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "WARN", "INFO", "DEBUG")
"""The levels of GELF, which has the numbers of syslog."""

_SECONDS = ((1e11, 1_000_000), (1e14, 1_000), (1e17, 1))
"""Microseconds of the unit of a time that is a number below a size; a larger one is of ns."""

_EXPRESSIONS = {
    "level": r" *(?P<level>[A-Z]+) *",
    "message": "(?P<message>.*)",
    "logger": r"(?P<logger>[\w.$-]*)",
    "end": "",
    "other": ".*?",
}


def _time(pattern: str, options: str) -> tuple[str, str]:
    date_format, _, zone = options[1:].partition("}") if options else ("", "", "")
    if zone:
        raise PipelineError(
            f"--pattern {pattern!r}: found the zone {zone} of %d; leave it out, and give it as"
            " --zone"
        )
    if date_format in EPOCHS:
        return r"\d{10,13}", date_format
    date_format = _NAMED_TIMES.get(date_format, date_format)
    if not date_format:
        return ISO, ""
    parts, formats = [], []
    at = 0
    while at < len(date_format):
        piece = next((piece for piece in _PIECES if date_format.startswith(piece[0], at)), None)
        if piece is not None:
            parts.append(piece[1])
            formats.append(piece[2])
            at += len(piece[0])
        elif date_format[at] == "'":
            end = date_format.find("'", at + 1)
            text = date_format[at + 1 : end if end > 0 else len(date_format)]
            parts.append("".join(map(_escape, text)))
            formats.append(text)
            at = end + 1 if end > 0 else len(date_format)
        elif date_format[at].isalpha():
            raise PipelineError(
                f"--pattern {pattern!r}: the time {date_format!r}: found {date_format[at]!r};"
                f" allowed: {', '.join(piece[0] for piece in _PIECES)}"
            )
        else:
            parts.append(_escape(date_format[at]))
            formats.append(date_format[at])
            at += 1
    whole = "".join(formats)
    if not {"%Y", "%d"} <= set(re.findall("%[A-Za-z]", whole)):
        raise PipelineError(f"--pattern {pattern!r}: the time {date_format!r} has no date")
    if "." in whole or "," in whole:
        whole = re.sub(r"\.%([369])f", r"%.\1f", whole)
    return "".join(parts), whole


def _escape(character: str) -> str:
    return f"\\{character}" if character in _SPECIAL else character


def _first(fields: dict[str, Any], *names: str) -> str | None:
    for name in names:
        value: Any = fields
        for part in (name,) if name in fields else name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, str):
            return value
    return None


def _json_time(fields: dict[str, Any]) -> str | None:
    instant = fields.get("instant")
    if isinstance(instant, dict):
        seconds, nanos = instant.get("epochSecond"), instant.get("nanoOfSecond", 0)
        if isinstance(seconds, int) and isinstance(nanos, int):
            return _of_us(seconds * 1_000_000 + nanos // 1000)
        return None
    for name in ("timeMillis", "epochMillis", "timestamp", "time", "@timestamp"):
        if isinstance(fields.get(name), (int, float)) and not isinstance(fields[name], bool):
            return number_time(fields[name])
    return _first(fields, "@timestamp", "timestamp", "time", "instant")


def _json_level(fields: dict[str, Any]) -> str | None:
    level = fields.get("level")
    if isinstance(level, int) and 0 <= level < len(_SYSLOG_LEVELS):
        return _SYSLOG_LEVELS[level]
    return _first(fields, *_LEVELS)


def number_time(number: float) -> str | None:
    """Return a time that is a number, of seconds, ms, us or ns by its size, as ISO 8601."""
    unit = next((us for below, us in _SECONDS if abs(number) < below), 0.001)
    return _of_us(round(number * unit))


def _of_us(us: int) -> str | None:
    try:
        moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=us)
    except OverflowError:
        return None
    return moment.isoformat(timespec="microseconds")
