"""Brings what modules log with Python's ``logging`` into the same lines.

Plug-ins log so, and parts of ours that may be used without a server.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from doorkeeper.config.levels import LEVELS, ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OFFERED = (50, 40, 30, 20, 10, 5)


class LeveledLogger(Protocol):
    """A logger of ours, as far as records need it."""

    def write(self, level: int, event: str, fields: Mapping[str, object]) -> None:
        """Log at a level of ``LEVELS``."""
        ...


class Bridge(logging.Handler):
    """Hands records on to our loggers of the same names."""

    def __init__(self, logger: Callable[[str], LeveledLogger], levels: Mapping[str, int]) -> None:
        """Take the place of all handlers of the root logger."""
        super().__init__()
        self._logger = logger
        self._named: set[str] = set()
        logging.root.handlers = [self]
        self.set_levels(levels)

    def set_levels(self, levels: Mapping[str, int]) -> None:
        """Give Python's loggers the levels that ours have."""
        for name in self._named - set(levels):
            logging.getLogger(name).setLevel(logging.NOTSET)
        self._named = set(levels) - {ROOT}
        for name in self._named:
            logging.getLogger(name).setLevel(levels[name])
        logging.root.setLevel(levels.get(ROOT, LEVELS["INFO"]))

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record as an event."""
        level = next((level for level in _OFFERED if record.levelno >= level), _OFFERED[-1])
        fields = {} if record.exc_info is None else {"exc_info": record.exc_info}
        try:
            self._logger(record.name).write(level, record.getMessage(), fields)
        except Exception:  # noqa: BLE001  a record that cannot be formatted must not stop who logs
            self.handleError(record)
