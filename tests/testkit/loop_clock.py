"""The time of an event loop, which passes when the test says so."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class LoopClock:
    """Seconds; with a step each look at the clock is so much later than the one before."""

    now_s: float
    step_s: float = 0.0
    pauses_s: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        """Return the time."""
        self.now_s += self.step_s
        return self.now_s

    async def sleep(self, pause_s: float) -> None:
        """Stand in for ``asyncio.sleep``: the time passes at once, and is kept."""
        self.pauses_s.append(pause_s)
        self.now_s += pause_s


@contextmanager
def time_by_hand(step_s: float = 0.0) -> Iterator[LoopClock]:
    """Give the running loop, which must be asyncio's own, a clock of the test.

    Its timers come when that clock says so, so that whether something is late does not depend on
    how busy the machine is. What is read from sockets comes as ever.
    """
    loop = asyncio.get_running_loop()
    clock = LoopClock(loop.time(), step_s)
    loop.time = clock  # type: ignore[method-assign]
    try:
        yield clock
    finally:
        del loop.time
