"""What a log line shows: its formats, which are console, JSON and Kafka's, and no secrets.

Events have ``event``, ``level``, ``logger``, ``timestamp_ns`` and fields. The values of fields and
keys that hold secrets are hidden: the second line of defence, since callers should not log them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from doorkeeper.server.config.keys import KEYS

if TYPE_CHECKING:
    from structlog.typing import EventDict, WrappedLogger

    Renderer = Callable[[WrappedLogger, str, EventDict], bytes]

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000

LEVEL_NAMES = {5: "TRACE", 10: "DEBUG", 20: "INFO", 30: "WARN", 40: "ERROR", 50: "FATAL"}
"""Kafka's names of levels, by the numbers of ``config.levels``."""

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Control characters and line breaks: names from clients may hold them, also before a login."""


def renderer_of(form: str, *, terminal: bool) -> Renderer:
    """Return the renderer of a ``doorkeeper.log.format``."""
    if form == "auto":
        form = "console" if terminal else "json"
    if form == "json":
        return as_json
    if form == "kafka":
        return as_kafka
    return console(colors=terminal)


def as_json(_logger: WrappedLogger, _method: str, event: EventDict) -> bytes:
    """Render one object: time in UTC, level, logger, event, then the fields."""
    when, level, logger, text = _head(event)
    time = datetime.fromtimestamp(when // NS_PER_MS / 1000, UTC)
    line = {
        "timestamp": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": level,
        "logger": logger,
        "event": text,
        **event,
    }
    text = json.dumps(line, ensure_ascii=False, default=str)
    # JSON escapes only the controls below 0x20; terminals and readers of lines obey others too.
    return _encode(_CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def as_kafka(_logger: WrappedLogger, _method: str, event: EventDict) -> bytes:
    """Render ``[%d] %p %m (%c)``, local time: the pattern that Kafka ships.

    Unlike a broker, escape line breaks and control characters: a client could forge lines with
    them.
    """
    when, level, logger, text = _head(event)
    trace = event.pop("exception", None)
    fields = "".join(f" {name}={value}" for name, value in event.items())
    line = (
        f"[{_local(when)},{when // NS_PER_MS % 1000:03d}] {level}"
        f" {_escape_controls(text)}{_escape_controls(fields)} ({logger})"
    )
    return _encode(line if trace is None else f"{line}\n{_indent(trace)}")


def console(*, colors: bool) -> Renderer:
    """Return the renderer for terminals: time, level, event, fields, logger."""
    dim, bold, reset = ("\x1b[2m", "\x1b[1m", "\x1b[0m") if colors else ("", "", "")
    tints = {"WARN": "\x1b[33m", "ERROR": "\x1b[31m", "FATAL": "\x1b[31m"} if colors else {}

    def render(_logger: WrappedLogger, _method: str, event: EventDict) -> bytes:
        when, level, logger, text = _head(event)
        trace = event.pop("exception", None)
        fields = "".join(f" {name}={_display(value)}" for name, value in event.items())
        tint = tints.get(level, "")
        line = (
            f"{dim}{_local(when)}{reset} {tint}{level:<5}{reset if tint else ''}"
            f" {bold}{_printable(text)}{reset}{fields} {dim}({logger}){reset}"
        )
        return _encode(line if trace is None else f"{line}\n{_indent(trace)}")

    return render


def _head(event: EventDict) -> tuple[int, str, str, str]:
    """Remove the common fields from the event, and return them."""
    return (
        event.pop("timestamp_ns"),
        event.pop("level"),
        event.pop("logger"),
        str(event.pop("event", "")),
    )


def _local(when_ns: int) -> str:
    local = datetime.fromtimestamp(when_ns // NS_PER_S, UTC).astimezone()
    return local.strftime("%Y-%m-%d %H:%M:%S")


def _display(value: object) -> str:
    text = str(value)
    plain = text.isprintable() and text and not set(text) & set(" ='\"")
    return text if plain else repr(text)


def _printable(text: str) -> str:
    """Escape control characters: names come from clients."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _escape_controls(text: str) -> str:
    return _CONTROLS.sub(lambda match: repr(match[0])[1:-1], text)


def _indent(trace: str) -> str:
    """Indent a traceback, as Java does: the text of an exception may quote a client's lines."""
    return "\n".join(f"\t{_escape_controls(line)}" for line in trace.splitlines())


def _encode(line: str) -> bytes:
    return line.encode("utf-8", "backslashreplace") + b"\n"


# --- secrets

HIDDEN = "[hidden]"

_SECRET = re.compile(
    r"passw|secret|token|credential|proof|jaas|private.?key|auth_bytes", re.IGNORECASE
)
_KEYS = frozenset(key.name for key in KEYS.values() if key.sensitive)


def is_secret(name: str) -> bool:
    """Return whether a field or key of this name may hold a secret."""
    return bool(_SECRET.search(name)) or name in _KEYS or name.replace("_", ".") in _KEYS


def hide(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace secret values of an event, also inside mappings."""
    for name, value in event.items():
        if is_secret(name):
            event[name] = HIDDEN
        elif isinstance(value, Mapping):
            event[name] = _hidden_inside(value)
    return event


def _hidden_inside(mapping: Mapping[object, object]) -> dict[object, object]:
    return {
        key: HIDDEN
        if is_secret(str(key))
        else _hidden_inside(value)
        if isinstance(value, Mapping)
        else value
        for key, value in mapping.items()
    }
