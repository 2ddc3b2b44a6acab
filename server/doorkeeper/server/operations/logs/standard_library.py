"""Routes records of Python's ``logging`` to the server's log.

Plug-ins use it, and so do parts of ours that run without a server.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from doorkeeper.server.config.levels import LEVELS, ROOT

_OFFERED = (50, 40, 30, 20, 10, 5)


class LeveledLogger(Protocol):
    """The part of a logger that records need."""

    def write(self, level: int, event: str, fields: Mapping[str, object]) -> None: ...


class Bridge(logging.Handler):
    """A handler that passes records to loggers of the same names."""

    def __init__(self, logger: Callable[[str], LeveledLogger], levels: Mapping[str, int]) -> None:
        """Replace all handlers of the root logger."""
        super().__init__()
        self._logger = logger
        self._named: set[str] = set()
        logging.root.handlers = [self]
        self.set_levels(levels)

    def set_levels(self, levels: Mapping[str, int]) -> None:
        """Set the levels of Python's loggers."""
        for name in self._named - set(levels):
            # A logger whose key was removed inherits its parent's level again.
            logging.getLogger(name).setLevel(logging.NOTSET)
        self._named = set(levels) - {ROOT}
        for name in self._named:
            logging.getLogger(name).setLevel(levels[name])
        logging.root.setLevel(levels.get(ROOT, LEVELS["INFO"]))

    def emit(self, record: logging.LogRecord) -> None:
        level = next((level for level in _OFFERED if record.levelno >= level), _OFFERED[-1])
        fields = {} if record.exc_info is None else {"exc_info": record.exc_info}
        try:
            self._logger(record.name).write(level, record.getMessage(), fields)
        except Exception:  # a record that cannot be formatted must not stop who logs
            self.handleError(record)
