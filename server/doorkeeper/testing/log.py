"""The log of a server in a test's process: records of Python's ``logging``, which pytest shows.

The logger names are those of the real server (``doorkeeper.net``, ``kafka.authorizer.logger``); the
test configures levels and handlers.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import TracebackType

from doorkeeper.server.authorizer.authorizer_log import StandardLibraryLog
from doorkeeper.server.operations.logs.pipeline import hide
from doorkeeper.server.runtime.logger import NO_FIELDS, LeveledLogger

_LEVELS = {5: logging.DEBUG}
"""Python has no named level below DEBUG."""


class _Threshold:
    """The minimum level of a logger, which the test may change at any time."""

    __slots__ = ("_logger",)

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    @property
    def level(self) -> int:
        """Return the level; at DEBUG trace lines are written too."""
        level = max(self._logger.getEffectiveLevel(), logging.root.manager.disable + 1)
        return min(_LEVELS) if level <= logging.DEBUG else level


class TestLogger(LeveledLogger):
    """Logs an event and its fields as one line."""

    __test__ = False

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)
        self.threshold = _Threshold(self._logger)

    def is_enabled(self, level: int) -> bool:
        return self._logger.isEnabledFor(_LEVELS.get(level, level))

    def write(self, level: int, event: str, fields: Mapping[str, object] = NO_FIELDS, /) -> None:
        level = _LEVELS.get(level, level)
        if not self._logger.isEnabledFor(level):
            return
        shown = hide(None, "", dict(fields))
        cause = _exception(shown.pop("exc_info", None))
        text = " ".join([event, *(f"{name}={value}" for name, value in shown.items())])
        self._logger.log(level, "%s", text, exc_info=cause)


class TestLogs:
    """Replaces the log of a process. The levels of the configuration have no effect."""

    __test__ = False

    def __init__(self) -> None:
        self.authorizer_log = StandardLibraryLog()

    def logger(self, name: str) -> TestLogger:
        return TestLogger(name)

    def set_levels(self, levels: Mapping[str, int]) -> None:
        """Do nothing: the test sets the levels."""


def _exception(
    value: object,
) -> bool | BaseException | tuple[type[BaseException], BaseException, TracebackType | None] | None:
    return value if isinstance(value, (bool, BaseException, tuple)) else None
