"""What a server logs inside a test: records of Python's ``logging``, which pytest shows.

The loggers are those of the real server (``doorkeeper.net``, ``kafka.authorizer.logger``); their
levels, and where records go, are the affair of the test that runs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from doorkeeper.authorizer.audit import LoggerAudit
from doorkeeper.logs.secrets import hide

if TYPE_CHECKING:
    from types import TracebackType

_LEVELS = {5: logging.DEBUG}
"""Python has no level below DEBUG that anybody knows by name."""


class _Threshold:
    """The level from which on a logger writes, as the test sets it at any time."""

    __slots__ = ("_logger",)

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    @property
    def level(self) -> int:
        """Return the level; at DEBUG the finest detail is written too."""
        level = max(self._logger.getEffectiveLevel(), logging.root.manager.disable + 1)
        return min(_LEVELS) if level <= logging.DEBUG else level


class TestLogger:
    """Logs an event and its fields as one line."""

    __test__ = False

    def __init__(self, name: str) -> None:
        """Log under this name."""
        self._logger = logging.getLogger(name)
        self.threshold = _Threshold(self._logger)

    def is_enabled(self, level: int) -> bool:
        """Say whether an event of this level would be logged."""
        return self._logger.isEnabledFor(_LEVELS.get(level, level))

    def trace(self, event: str, **fields: object) -> None:
        """Log the finest detail."""
        self.write(5, event, fields)

    def debug(self, event: str, **fields: object) -> None:
        """Log a detail."""
        self.write(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: object) -> None:
        """Log what an operator wants to know."""
        self.write(logging.INFO, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Log what an operator should look at."""
        self.write(logging.WARNING, event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Log what went wrong."""
        self.write(logging.ERROR, event, fields)

    def exception(self, event: str, **fields: object) -> None:
        """Log what went wrong, with the exception under way."""
        self.write(logging.ERROR, event, {"exc_info": True, **fields})

    def write(self, level: int, event: str, fields: Mapping[str, object]) -> None:
        """Log at a level."""
        level = _LEVELS.get(level, level)
        if not self._logger.isEnabledFor(level):
            return
        shown = hide(None, "", dict(fields))
        cause = _exception(shown.pop("exc_info", None))
        text = " ".join([event, *(f"{name}={value}" for name, value in shown.items())])
        self._logger.log(level, "%s", text, exc_info=cause)


class TestLogs:
    """Takes the place of a process's log. Levels of the configuration do nothing."""

    __test__ = False

    def __init__(self) -> None:
        """Leave all of ``logging`` as it is."""
        self.audit = LoggerAudit()

    def logger(self, name: str) -> TestLogger:
        """Return a logger."""
        return TestLogger(name)

    def set_levels(self, levels: Mapping[str, int]) -> None:
        """Leave the levels to the test."""


def _exception(
    given: object,
) -> bool | BaseException | tuple[type[BaseException], BaseException, TracebackType | None] | None:
    return given if isinstance(given, (bool, BaseException, tuple)) else None
