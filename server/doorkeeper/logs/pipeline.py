"""From an event to a queued line.

log = logs.logger("doorkeeper.net")
log.info("connection refused", peer="10.0.0.7", reason="limit of one address")
"""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.config.levels import LEVELS
from doorkeeper.logs.line_writer import LineWriter
from doorkeeper.logs.rendering import renderer_of
from doorkeeper.logs.secrets import hide
from doorkeeper.logs.standard_library import Bridge
from doorkeeper.logs.thresholds import Threshold, Thresholds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

AUDIT_LOGGER: Final = "kafka.authorizer.logger"
CLOSE_TIMEOUT_S: Final = 2.0
"""How long the end of the process waits for a reader of the log that has stopped reading."""

_LEVEL_NAMES = {5: "TRACE", 10: "DEBUG", 20: "INFO", 30: "WARN", 40: "ERROR", 50: "FATAL"}


class Logger:
    """Logs events with fields, from the level that its name has."""

    __slots__ = ("_name", "_threshold", "_write")

    def __init__(
        self,
        name: str,
        threshold: Threshold,
        write: Callable[[str, int, str, Mapping[str, object]], None],
    ) -> None:
        """Hand on name, level, event and fields of what is to be written."""
        self._name = name
        self._threshold = threshold
        self._write = write

    def enabled(self, level: int) -> bool:
        """Say whether an event of this level would be written."""
        return level >= self._threshold.level

    def trace(self, event: str, **fields: object) -> None:
        """Log the finest detail."""
        self.write(5, event, fields)

    def debug(self, event: str, **fields: object) -> None:
        """Log a detail."""
        self.write(10, event, fields)

    def info(self, event: str, **fields: object) -> None:
        """Log what an operator wants to know."""
        self.write(20, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Log what an operator should look at."""
        self.write(30, event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Log what went wrong."""
        self.write(40, event, fields)

    def exception(self, event: str, **fields: object) -> None:
        """Log what went wrong, with the traceback of the exception under way."""
        self.write(40, event, {"exc_info": True, **fields})

    def write(self, level: int, event: str, fields: Mapping[str, object]) -> None:
        """Log at a level of ``LEVELS``."""
        if level >= self._threshold.level:
            self._write(self._name, level, event, fields)


class AuditLogger:
    """Writes the lines of Kafka's authorizer log, each as it is."""

    def __init__(self, logger: Logger) -> None:
        """Write through this logger."""
        self._logger = logger
        self.enabled = logger.enabled
        """Says whether a line of a level would be written."""

    def write(self, level: int, text: str) -> None:
        """Write a line, if its level is enabled."""
        self._logger.write(level, text, {})


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
        """Begin to write, also what is logged with Python's ``logging``."""
        self._now_ns = now_ns
        self._thresholds = Thresholds(levels)
        self._render = renderer_of(form, terminal=terminal)
        self._writer = LineWriter(descriptor, self.lost_line)
        self._bridge = Bridge(self.logger, levels)
        self.audit = AuditLogger(self.logger(AUDIT_LOGGER))

    def logger(self, name: str) -> Logger:
        """Return a logger."""
        return Logger(name, self._thresholds.of(name), self._write)

    def set_levels(self, levels: Mapping[str, int]) -> None:
        """Set the levels of all loggers anew."""
        self._thresholds.replace(levels)
        self._bridge.set_levels(levels)

    def close(self) -> None:
        """Write what waits; give up after ``CLOSE_TIMEOUT_S``."""
        self._writer.close(CLOSE_TIMEOUT_S)

    def lost_line(self, count: int) -> bytes:
        """Return the line that tells how many were dropped."""
        text = "log lines were lost because nobody read them"
        return self._line("doorkeeper.logs", 30, text, {"lines": count})

    def _write(self, name: str, level: int, text: str, fields: Mapping[str, object]) -> None:
        self._writer.write(self._line(name, level, text, fields))

    def _line(self, name: str, level: int, text: str, fields: Mapping[str, object]) -> bytes:
        event: dict[str, Any] = {**fields, "level": _LEVEL_NAMES[level], "event": text}
        hide(event)
        trace = _trace(event.pop("exc_info", None))
        if trace is not None:
            event["exception"] = trace
        return self._render({**event, "timestamp_ns": self._now_ns(), "logger": name})


def _trace(cause: object) -> str | None:
    """Return the traceback of an exception, of ``logging``'s three values, or, for True, of now."""
    if cause is True:
        cause = sys.exc_info()
    if isinstance(cause, tuple):
        cause = cause[1]
    if not isinstance(cause, BaseException):
        return None
    return "".join(traceback.format_exception(cause)).rstrip("\n")


assert set(_LEVEL_NAMES) <= set(LEVELS.values())
