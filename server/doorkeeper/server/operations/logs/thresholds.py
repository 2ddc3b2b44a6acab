"""The level of each logger; without its own, it has its parent's."""

from __future__ import annotations

from collections.abc import Mapping

from doorkeeper.server.config.levels import LEVELS, ROOT


class LoggerThreshold:
    """The lowest level that one logger writes; a reload changes it in place."""

    __slots__ = ("level",)

    def __init__(self, level: int) -> None:
        self.level = level


class Thresholds:
    """The thresholds of all loggers. Names are dotted, as in Kafka's log4j files."""

    def __init__(self, levels: Mapping[str, int]) -> None:
        """``root`` applies to all loggers, INFO by default."""
        self._levels = dict(levels)
        self._known: dict[str, LoggerThreshold] = {}

    def of(self, logger: str) -> LoggerThreshold:
        """Return the threshold of a logger: always the same object."""
        known = self._known.get(logger)
        if known is None:
            known = self._known[logger] = LoggerThreshold(self._level_of(logger))
        return known

    def replace(self, levels: Mapping[str, int]) -> None:
        """Set the levels of all loggers."""
        self._levels = dict(levels)
        # In place: callers hold the threshold objects and read ``level`` for each line.
        for logger, threshold in self._known.items():
            threshold.level = self._level_of(logger)

    def _level_of(self, logger: str) -> int:
        name = logger
        while name:
            if name in self._levels:
                return self._levels[name]
            name = name.rpartition(".")[0]
        return self._levels.get(ROOT, LEVELS["INFO"])
