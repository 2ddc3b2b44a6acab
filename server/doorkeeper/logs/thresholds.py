"""Which levels are written: a number for each logger, its parent's where it has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.config.levels import LEVELS, ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping


class Threshold:
    """The lowest level that one logger writes; changes when levels are set anew."""

    __slots__ = ("level",)

    def __init__(self, level: int) -> None:
        """Begin with a level."""
        self.level = level


class Thresholds:
    """The thresholds of all loggers. Names are dotted, as in Kafka's log4j files."""

    def __init__(self, levels: Mapping[str, int]) -> None:
        """Take the levels that are given; ``root`` stands above all, at INFO by default."""
        self._levels = dict(levels)
        self._known: dict[str, Threshold] = {}

    def of(self, logger: str) -> Threshold:
        """Return the threshold of a logger: one object for its life."""
        known = self._known.get(logger)
        if known is None:
            known = self._known[logger] = Threshold(self._level_of(logger))
        return known

    def replace(self, levels: Mapping[str, int]) -> None:
        """Set the levels anew, for all loggers at once."""
        self._levels = dict(levels)
        for logger, threshold in self._known.items():
            threshold.level = self._level_of(logger)

    def _level_of(self, logger: str) -> int:
        name = logger
        while name:
            if name in self._levels:
                return self._levels[name]
            name = name.rpartition(".")[0]
        return self._levels.get(ROOT, LEVELS["INFO"])
