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
    """Takes audit lines. Neither method may block."""

    def enabled(self, level: int) -> bool:
        """Say whether lines of this level are wanted; asked for each decision, before rendering."""
        ...

    def write(self, level: int, text: str) -> None:
        """Take one line, without its end."""
        ...


class LoggerAudit:
    """Writes audit lines to the standard library's logger of Kafka's name."""

    def __init__(self) -> None:
        """Take the logger as it is configured now and later."""
        self._logger = logging.getLogger(LOGGER_NAME)

    def enabled(self, level: int) -> bool:
        """Say whether the logger takes this level."""
        return self._logger.isEnabledFor(level)

    def write(self, level: int, text: str) -> None:
        """Log the line."""
        self._logger.log(level, "%s", text)
