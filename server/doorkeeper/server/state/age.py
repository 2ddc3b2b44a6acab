"""Bounded staleness: deny access while the state is older than its maximum age."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from doorkeeper.server.runtime.logger import Logger
    from doorkeeper.server.state.state import State

CHECK_S: Final = 1.0
"""Longest pause between two checks of the age, in seconds."""

# While the state is stale each check may end an outage, so it comes 20 times a second.
STALE_CHECK_S: Final = 0.05


class Ageing(Protocol):
    """The part of the state log that the check of its age uses."""

    state: State

    @property
    def age_s(self) -> float: ...

    def amend(self, *, stale: bool) -> None: ...


async def watch_age(log: Ageing, max_age_s: float, logger: Logger) -> None:
    """Keep ``State.stale`` true while the state is older than ``max_age_s``, until cancelled."""
    while True:
        age_s = log.age_s
        is_stale = age_s > max_age_s
        if is_stale is not log.state.stale:
            log.amend(stale=is_stale)
            if is_stale:
                logger.error("the state is too old: access is denied", age_s=round(age_s, 1))
            else:
                logger.info("the state is current again: access is decided by ACLs")
        # A fresh state cannot become stale before its age reaches the maximum.
        await asyncio.sleep(STALE_CHECK_S if is_stale else min(max_age_s - age_s, CHECK_S))
