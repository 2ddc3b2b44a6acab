"""The level of each logger, held by Python's ``logging``, and the records that come from there.

Plug-ins log with ``logging``, and so do parts of ours that run without a server. A logger without a
level of its own has its parent's, as in Kafka's log4j files.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from doorkeeper.server.config.levels import LEVELS, ROOT
from doorkeeper.server.runtime.logger import LeveledLogger

LEVEL_NAMES = {5: "TRACE", 10: "DEBUG", 20: "INFO", 30: "WARN", 40: "ERROR", 50: "FATAL"}
"""Kafka's names of levels, by the numbers of ``config.levels``."""


class LoggerThreshold:
    """The lowest level that one logger writes; a reload changes it in place.

    Each decision reads ``level``; asking Python's logger each time takes four times as long.
    """

    __slots__ = ("level",)

    def __init__(self, level: int) -> None:
        self.level = level


class Levels(logging.Handler):
    """The levels of this process. As a handler, it passes records to loggers of the same names."""

    def __init__(self, logger: Callable[[str], LeveledLogger], levels: Mapping[str, int]) -> None:
        """Replace all handlers of the root logger, and set the levels."""
        super().__init__()
        self._logger = logger
        self._named: set[str] = set()
        self._thresholds: dict[str, LoggerThreshold] = {}
        logging.root.handlers = [self]
        self.replace(levels)

    def of(self, name: str) -> LoggerThreshold:
        """Return the threshold of a logger: always the same object."""
        if name not in self._thresholds:
            self._thresholds[name] = LoggerThreshold(_level_of(name))
        return self._thresholds[name]

    def replace(self, levels: Mapping[str, int]) -> None:
        """Set the levels of all loggers; ``root`` applies to all, INFO by default."""
        for name in self._named - set(levels):
            # A logger whose key was removed inherits its parent's level again.
            logging.getLogger(name).setLevel(logging.NOTSET)
        self._named = set(levels) - {ROOT}
        for name in self._named:
            logging.getLogger(name).setLevel(levels[name])
        logging.root.setLevel(levels.get(ROOT, LEVELS["INFO"]))
        for name, threshold in self._thresholds.items():
            threshold.level = _level_of(name)

    def emit(self, record: logging.LogRecord) -> None:
        level = max((level for level in LEVEL_NAMES if level <= record.levelno), default=5)
        fields = {} if record.exc_info is None else {"exc_info": record.exc_info}
        try:
            self._logger(record.name).write(level, record.getMessage(), fields)
        except Exception:  # a record that cannot be formatted must not stop who logs
            self.handleError(record)


def _level_of(name: str) -> int:
    return logging.getLogger(name).getEffectiveLevel()
