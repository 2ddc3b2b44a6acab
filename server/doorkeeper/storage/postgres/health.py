"""How a node stands with the store that it shares: what readiness, metrics and the log tell."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.logs.pipeline import Logger

_FIRST_S: Final = 0.05
_LONGEST_S: Final = 5.0


class BackOff:
    """Pauses between attempts, each up to twice the one before; nodes do not come back in step."""

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        """Begin with the shortest. ``chance`` gives numbers from 0 to 1."""
        self._chance = chance
        self._pause_s = _FIRST_S

    def reset(self) -> None:
        """Begin anew: an attempt succeeded."""
        self._pause_s = _FIRST_S

    def next_s(self) -> float:
        """Return the next pause, in seconds."""
        pause_s = self._pause_s
        self._pause_s = min(_LONGEST_S, pause_s * 2)
        return pause_s * (0.5 + self._chance() / 2)


FOLLOWER: Final = "follower"
WRITER: Final = "writer"
"""Who asks the store. A database that takes no writes still answers those who follow it."""


class Health:
    """Whether the store answers, and since when what the node knows is the newest there is."""

    def __init__(self, clock: Callable[[], float], log: Logger, name: str) -> None:
        """Begin with a store that was just read. ``clock`` is steady, in seconds."""
        self._clock = clock
        self._log = log
        self._name = name
        self._confirmed_s = clock()
        self._lost_by: set[str] = set()
        self._away_since_s = 0.0
        self.head_revision = 0
        """The newest revision that anybody is known to have written."""

    @property
    def is_reachable(self) -> bool:
        """Say whether the store answered everybody the last time it was asked."""
        return not self._lost_by

    def is_lost_by(self, who: str) -> bool:
        """Say whether the store did not answer somebody the last time."""
        return who in self._lost_by

    @property
    def age_s(self) -> float:
        """Return how old what the node decides from may be: since when nobody has confirmed it."""
        return self._clock() - self._confirmed_s

    def confirmed(self) -> None:
        """Note that the node has everything up to the head."""
        self._confirmed_s = self._clock()

    def answered(self, who: str) -> None:
        """Note that the store does what somebody asks of it."""
        if who not in self._lost_by:
            return
        self._lost_by.discard(who)
        if self.is_reachable:
            away_s = self._clock() - self._away_since_s
            self._log.info("the store is back", store=self._name, away_s=round(away_s, 3))

    def lost(self, who: str, error: BaseException) -> None:
        """Note that the store does not answer somebody; told once, until it answers everybody."""
        if self.is_reachable:
            self._away_since_s = self._clock()
            self._log.error(
                "the store is away: decisions go on from what is known, changes wait",
                store=self._name,
                cause=reason(error),
            )
        self._lost_by.add(who)


def reason(error: BaseException) -> str:
    """Return what an error says, in one line; some say nothing but their name."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
