"""The sink of authorizer log lines, and Kafka's levels for them.

Kafka writes them to the logger ``kafka.authorizer.logger``: allowed accesses at DEBUG, denied ones
at INFO, probes that are no access by themselves at TRACE.
"""

from __future__ import annotations

import logging
from typing import Protocol

TRACE = 5
DEBUG = 10
INFO = 20

LOGGER_NAME = "kafka.authorizer.logger"


class AuthorizerLog(Protocol):
    """Receives lines of the authorizer log. ``write`` must not block."""

    @property
    def threshold(self) -> Threshold:
        """Return the minimum level: always the same object, whose ``level`` may change."""
        ...

    def write(self, level: int, text: str, /) -> None:
        """Write one line, given without line end."""
        ...


class Threshold(Protocol):
    """The minimum level of written lines. Read for each decision, before a line is rendered."""

    @property
    def level(self) -> int: ...


class _LoggerThreshold:
    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    @property
    def level(self) -> int:
        return self._logger.getEffectiveLevel()


class StandardLibraryLog:
    """Writes lines to the standard library's logger under Kafka's name."""

    def __init__(self) -> None:
        self._logger = logging.getLogger(LOGGER_NAME)
        self.threshold = _LoggerThreshold(self._logger)

    def write(self, level: int, text: str) -> None:
        # As an argument: resource names in the text may contain percent signs.
        self._logger.log(level, "%s", text)
