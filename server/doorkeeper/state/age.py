"""Bounded staleness: a state that is older than it may be allows nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from doorkeeper.logger import Logger
    from doorkeeper.state.state import State

CHECK_S: Final = 1.0
"""How often the age of the state is looked at, at least."""

STALE_CHECK_S: Final = 0.05
"""How often it is looked at while it is too old."""


class Ageing(Protocol):
    """What has a state that ages: the state log."""

    state: State

    @property
    def age_s(self) -> float:
        """Return the age of the state."""
        ...

    def amend(self, *, stale: bool) -> None:
        """Publish the state with another mark."""
        ...


async def watch_age(log: Ageing, max_age_s: float, logger: Logger) -> None:
    """Mark the state of a log as stale while it is older than it may be, until cancelled."""
    while True:
        age_s = log.age_s
        is_stale = age_s > max_age_s
        if is_stale is not log.state.stale:
            log.amend(stale=is_stale)
            if is_stale:
                logger.error("the state is too old: access is denied", age_s=round(age_s, 1))
            else:
                logger.info("the state is current again: access is decided by ACLs")
        await asyncio.sleep(STALE_CHECK_S if is_stale else min(max_age_s - age_s, CHECK_S))
