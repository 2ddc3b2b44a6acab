"""From an event to a line on a descriptor: the configuration of structlog, a queue and a thread.

log = structlog.get_logger("doorkeeper.net")
log.info("connection refused", peer="10.0.0.7", reason="limit of one address")

Events have ``event``, ``level``, ``logger``, ``timestamp_ns`` and fields. The values of fields and
keys that hold secrets are hidden: the second line of defence, since callers should not log them.
The formats of a line are console, JSON and Kafka's.

A thread writes the lines, so that a slow reader delays no logger. Without room in the queue new
lines are dropped, and their number is a line of its own later.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.server.authorizer.authorizer_log import LOGGER_NAME
from doorkeeper.server.config.keys import KEYS
from doorkeeper.server.operations.logs.levels import LEVEL_NAMES, Levels, LoggerThreshold
from doorkeeper.server.runtime.bounded_queue import Batch, BoundedQueue
from doorkeeper.server.runtime.lean_structlog import structlog
from doorkeeper.server.runtime.logger import NO_FIELDS, LeveledLogger

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

    Renderer = Callable[[WrappedLogger, str, EventDict], bytes]

QUEUED_BYTES_MAX: Final = 8 * 1024 * 1024
"""About 40,000 authorizer log lines: a second of denials at full speed."""

CLOSE_TIMEOUT_S: Final = 2.0
"""Time that the process waits at its end for a stalled reader of the log."""

_GONE: Final = frozenset({errno.EPIPE, errno.EBADF, errno.EIO, errno.ECONNRESET})
"""Errors of a descriptor whose other end is closed, or which is closed itself."""

TEXT_CHARACTERS_MAX: Final = 1_000
"""Topics, groups and ids of clients have a quarter of it."""


def _shorten(logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Cut long texts of the event, and say how long they were: peers must not fill the disk.

    Lines of the authorizer log stay whole: tools read the names of resources from them.
    """
    if logger.name != LOGGER_NAME:
        for name, value in event.items():
            if isinstance(value, str) and len(value) > TEXT_CHARACTERS_MAX:
                event[name] = f"{value[:TEXT_CHARACTERS_MAX]}... ({len(value):,} characters)"
    return event


class _Output:
    """The output of one logger."""

    __slots__ = ("msg", "name", "threshold")

    def __init__(
        self, name: str, threshold: LoggerThreshold, write: Callable[[bytes], None]
    ) -> None:
        self.name = name
        self.threshold = threshold
        self.msg = write


class Logger(LeveledLogger, structlog.BoundLoggerBase):
    """Logs events with fields, from the level of its name."""

    _logger: _Output

    @property
    def threshold(self) -> LoggerThreshold:
        """Return the lowest level that is written: one object, whose ``level`` may change."""
        return self._logger.threshold

    def is_enabled(self, level: int) -> bool:
        """Return whether an event of this level is written."""
        return level >= self._logger.threshold.level

    def write(self, level: int, event: str, fields: Mapping[str, object] = NO_FIELDS, /) -> None:
        if level >= self._logger.threshold.level:
            self._proxy_to_logger("msg", event, level=LEVEL_NAMES[level], **fields)


class Logs:
    """The log of one process."""

    def __init__(
        self,
        *,
        descriptor: int,
        form: str,
        terminal: bool,
        levels: Mapping[str, int],
        now_ns: Callable[[], int],
    ) -> None:
        """Configure structlog for this process and start the writer."""
        self._now_ns = now_ns
        self._processors: Sequence[Processor] = (
            hide,
            _shorten,
            self._head,
            structlog.processors.format_exc_info,
            renderer_of(form, terminal=terminal),
        )
        self._writer = LineWriter(descriptor, self.lost_line)
        self._levels = Levels(self.logger, levels)
        structlog.configure(
            processors=self._processors,
            wrapper_class=Logger,
            context_class=dict,
            logger_factory=self._output,
            # Loggers are looked up by module-level names; without the cache each event would bind
            # anew.
            cache_logger_on_first_use=True,
        )
        self.authorizer_log = self.logger(LOGGER_NAME)
        """Writes the lines of Kafka's authorizer log unchanged."""

    def logger(self, name: str) -> Logger:
        return Logger(self._output(name), self._processors, {})

    def set_levels(self, levels: Mapping[str, int]) -> None:
        self._levels.replace(levels)

    def close(self) -> None:
        """Write the queued lines; give up after ``CLOSE_TIMEOUT_S``."""
        self._writer.close(CLOSE_TIMEOUT_S)

    def _output(self, *names: Any) -> _Output:
        name = str(names[0]) if names else "doorkeeper"
        return _Output(name, self._levels.of(name), self._writer.write)

    def _head(self, logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["timestamp_ns"] = self._now_ns()
        event["logger"] = logger.name
        return event

    def lost_line(self, count: int) -> bytes:
        """Return the line with the number of dropped lines."""
        event: EventDict = {
            "event": "log lines were lost because standard output did not take them",
            "level": "WARN",
            "logger": "doorkeeper.logs",
            "timestamp_ns": self._now_ns(),
            "lines": count,
        }
        return bytes(self._processors[-1](None, "", event))  # type: ignore[arg-type]


# --- the thread


class LineWriter:
    """A queue and its thread. Thread-safe; never blocks."""

    def __init__(
        self,
        descriptor: int,
        lost_line: Callable[[int], bytes],
        *,
        queued_bytes_max: int = QUEUED_BYTES_MAX,
    ) -> None:
        """``lost_line`` renders the line with the number of dropped lines."""
        self._descriptor = descriptor
        self._lost_line = lost_line
        self._is_closed = False
        """Whether the reader has gone for good."""
        self._is_torn = False
        """Whether the last write may have ended in the middle of a line."""
        self._lost = 0
        """Lines of failed writes; not in the queue, which would wake the thread at once."""
        self._queue = BoundedQueue[bytes](queued_bytes_max)
        self._queue.start("doorkeeper-log", self._write)

    def write(self, line: bytes) -> None:
        """Queue a line, which ends with a newline; drop and count it when the queue is full."""
        if not self._queue.put(line, len(line)):
            self._queue.lose()

    def close(self, timeout_s: float) -> None:
        """Write the queued lines, as far as the reader takes them within the time-out."""
        self._queue.close(timeout_s)

    def _write(self, batch: Batch[bytes]) -> None:
        # After the lines that had room, so that the count stands where lines are missing.
        count = self._lost + (0 if batch.lost is None else batch.lost.items)
        lost = [self._lost_line(count)] if count else []
        start = b"\n" if self._is_torn else b""
        try:
            if not self._is_closed:
                write_all(self._descriptor, b"".join((start, *batch.items, *lost)))
            self._is_torn = False
            self._lost = 0
        except OSError as error:
            # There is nowhere to report it. A disk that is full, or fails, may work again later.
            is_disk = error.errno == errno.EIO and S_ISREG(os.fstat(self._descriptor).st_mode)
            self._is_closed = error.errno in _GONE and not is_disk
            self._is_torn = True
            self._lost = count + len(batch.items)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all data, also to a non-blocking descriptor, which stdout may be.

    Raises:
        OSError: the descriptor takes no more.
    """
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            # stdout may be shared with a process that made it non-blocking.
            select.select([], [descriptor], [])


# --- rendering

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000

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


# --- of a command

STDERR: Final = 2


@contextmanager
def command_logs(least_level: int = logging.WARNING) -> Iterator[Logs]:
    """Log events of plug-ins and parts of the server until the end of the block."""
    root, configuration = logging.root, structlog.get_config()
    handlers, level = root.handlers, root.level
    logs = Logs(
        descriptor=STDERR,
        form="console",
        terminal=os.isatty(STDERR),
        levels={"root": least_level},
        now_ns=time.time_ns,
    )
    try:
        yield logs
    finally:
        logs.close()
        structlog.configure(**configuration)
        root.handlers, root.level = handlers, level
