"""From an event to a line on a descriptor: the configuration of structlog, a queue and a thread.

log = structlog.get_logger("doorkeeper.net")
log.info("connection refused", peer="10.0.0.7", reason="limit of one address")

A thread writes the lines, so that a slow reader delays no logger. Without room in the queue new
lines are dropped, and their number is a line of its own later.
"""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.server.authorizer.authorizer_log import LOGGER_NAME
from doorkeeper.server.operations.logs.levels import Levels, LoggerThreshold
from doorkeeper.server.operations.logs.rendering import LEVEL_NAMES, hide, renderer_of
from doorkeeper.server.runtime.bounded_queue import Batch, BoundedQueue
from doorkeeper.server.runtime.lean_structlog import structlog
from doorkeeper.server.runtime.logger import NO_FIELDS, LeveledLogger

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger


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
        lost = [] if batch.lost is None else [self._lost_line(batch.lost.items)]
        start = b"\n" if self._is_torn else b""
        try:
            if not self._is_closed:
                write_all(self._descriptor, b"".join((start, *batch.items, *lost)))
            self._is_torn = False
        except OSError as error:
            # There is nowhere to report it. A disk that is full may have room later.
            self._is_closed = error.errno in _GONE
            self._is_torn = True
            lost_before = 0 if batch.lost is None else batch.lost.items
            self._queue.lose(len(batch.items) + lost_before)


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
