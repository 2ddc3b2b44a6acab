"""How a node stands with the store that it shares: for readiness, metrics and the log."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from doorkeeper.state.store import StoreReplaced

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.logger import Logger

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
"""The connections of a node. A database that takes no writes still answers a follower."""


class Health:
    """Why the store cannot be used at the moment, by connection; logs when that changes."""

    def __init__(self, clock: Callable[[], float], log: Logger, name: str) -> None:
        """Begin with a store that was just read. ``clock`` is steady, in seconds."""
        self._clock = clock
        self._log = log
        self._name = name
        self._lost_by: dict[str, BaseException] = {}
        self._away_since_s = 0.0
        self.is_replaced = False

    @property
    def problem(self) -> str | None:
        """Return why the store cannot be used; None where it answers every connection."""
        for error in self._lost_by.values():
            return reason(error)
        return None

    def is_lost_by(self, who: str) -> bool:
        """Say whether the store did not answer a connection the last time."""
        return who in self._lost_by

    def answered(self, who: str) -> None:
        """Note that the store does what a connection asks of it."""
        if who not in self._lost_by:
            return
        del self._lost_by[who]
        if not self._lost_by:
            self.is_replaced = False
            away_s = self._clock() - self._away_since_s
            self._log.info("the store is back", store=self._name, away_s=round(away_s, 3))

    def lost(self, who: str, error: BaseException) -> None:
        """Note that the store does not answer a connection; logged once, until it answers all."""
        if not self._lost_by:
            self._away_since_s = self._clock()
        if isinstance(error, StoreReplaced):
            if not self.is_replaced:
                self.is_replaced = True
                self._log.error(
                    "this is not the store that the node knows: decisions go on from what is"
                    " known, changes fail",
                    store=self._name,
                    cause=reason(error),
                )
        elif not self._lost_by:
            self._log.error(
                "the store is away: decisions go on from what is known, changes wait",
                store=self._name,
                cause=reason(error),
            )
        self._lost_by[who] = error


def reason(error: BaseException) -> str:
    """Return what an error says, in one line; the name of its class where it is not ours."""
    text = " ".join(str(error).split())
    if isinstance(error, StoreReplaced):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
