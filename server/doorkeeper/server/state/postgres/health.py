"""State of a node's connections to the shared store: for readiness, metrics and the log."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.state.store import StoreReplaced

_FIRST_S: Final = 0.05
_LONGEST_S: Final = 5.0


class BackOff:
    """Exponential pauses between attempts, with jitter so that nodes do not reconnect in step."""

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        """``chance`` returns random numbers from 0 to 1."""
        self._chance = chance
        self._pause_s = _FIRST_S

    def reset(self) -> None:
        """Restart with the shortest pause after a success."""
        self._pause_s = _FIRST_S

    def next_s(self) -> float:
        """Return the next pause, in seconds."""
        pause_s = self._pause_s
        self._pause_s = min(_LONGEST_S, pause_s * 2)
        return pause_s * (0.5 + self._chance() / 2)


FOLLOWER: Final = "follower"
WRITER: Final = "writer"
"""The connections of a node. A read-only database still answers a follower."""


class Health:
    """Why the store is unavailable, by connection; logs each transition."""

    def __init__(self, clock: Callable[[], float], log: Logger, name: str) -> None:
        """``clock`` is monotonic, in seconds."""
        self._clock = clock
        self._log = log
        self._name = name
        self.lost_by: dict[str, BaseException] = {}
        """Why the last attempt on each lost connection failed."""
        self._away_since_s = 0.0
        self.is_replaced = False

    @property
    def problem(self) -> str | None:
        """Return why the store is unavailable; None if all connections work."""
        for error in self.lost_by.values():
            return reason(error)
        return None

    def record_success(self, connection_name: str) -> None:
        """Record a success on a connection; log the end of an outage."""
        if connection_name not in self.lost_by:
            return
        del self.lost_by[connection_name]
        if not self.lost_by:
            self.is_replaced = False
            away_s = self._clock() - self._away_since_s
            self._log.info(
                "the store is available again", store=self._name, away_s=round(away_s, 3)
            )

    def record_failure(self, connection_name: str, error: BaseException) -> None:
        """Record a failure of a connection; one outage is logged once."""
        if not self.lost_by:
            self._away_since_s = self._clock()
        if isinstance(error, StoreReplaced):
            if not self.is_replaced:
                self.is_replaced = True
                self._log.error(
                    "this is not the store of this node: decisions use the last known state,"
                    " changes fail",
                    store=self._name,
                    cause=reason(error),
                )
        elif not self.lost_by:
            self._log.error(
                "the store is unavailable: decisions use the last known state, changes wait",
                store=self._name,
                cause=reason(error),
            )
        self.lost_by[connection_name] = error


def reason(error: BaseException) -> str:
    """Return an error's text in one line, after the name of its class unless it is Doorkeeper's."""
    text = " ".join(str(error).split())
    if isinstance(error, StoreReplaced):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
