"""Where audit lines go, and Kafka's levels for them.

Kafka writes them to the logger ``kafka.authorizer.logger``: an access that was granted at DEBUG,
one that was denied at INFO, an answer that is no access by itself at TRACE.
"""

from __future__ import annotations

import logging
from typing import Protocol

TRACE = 5
DEBUG = 10
INFO = 20

LOGGER_NAME = "kafka.authorizer.logger"


class AuditSink(Protocol):
    """Takes audit lines. ``write`` may not block."""

    @property
    def threshold(self) -> Threshold:
        """Return the lowest level that is wanted: one object, whose ``level`` may change."""
        ...

    def write(self, level: int, text: str) -> None:
        """Take one line, without its end."""
        ...


class Threshold(Protocol):
    """The lowest level that is written. Read for each decision, before a line is rendered."""

    @property
    def level(self) -> int:
        """Return the level."""
        ...


class _LoggerThreshold:
    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    @property
    def level(self) -> int:
        return self._logger.getEffectiveLevel()


class LoggerAudit:
    """Writes audit lines to the standard library's logger of Kafka's name."""

    def __init__(self) -> None:
        """Take the logger as it is configured now and later."""
        self._logger = logging.getLogger(LOGGER_NAME)
        self.threshold = _LoggerThreshold(self._logger)

    def write(self, level: int, text: str) -> None:
        """Log the line."""
        self._logger.log(level, "%s", text)
