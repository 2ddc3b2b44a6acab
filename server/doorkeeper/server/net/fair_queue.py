"""A fair queue for the work of connections that have not authenticated.

An authenticated client is answered as its bytes arrive. The work of other connections (accepting,
login frames, refusals) waits here, in one queue for each address. The queues are served round
robin, one item in each turn of the loop, so that the loop polls the sockets of authenticated
clients before each item. While these are active, all unauthenticated work together gets a limited
share of the loop's time, which slows password guessing and delays a login by milliseconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from doorkeeper.server.runtime.fair_queues import FairQueues

QUIET_S: Final = 0.1
"""Authenticated clients count as active for this long after their last request."""

REST_S: Final = 0.001
"""The resolution of the event loop's timers."""

CREDIT_S: Final = 0.002
"""Unused time that is carried over at most: a timer of 1 ms may fire after 2 ms."""


class QueuedWork:
    """An item of the queue."""

    __slots__ = ("_work",)

    def __init__(self, work: Callable[[], None]) -> None:
        self._work: Callable[[], None] | None = work

    def cancel(self) -> None:
        self._work = None

    def run(self) -> bool:
        """Do the work; return False where it was cancelled."""
        work, self._work = self._work, None
        if work is None:
            return False
        work()
        return True


class FairQueue:
    """The queues of all addresses. Not thread-safe."""

    __slots__ = (
        "_busy_until_s",
        "_clock",
        "_free_s",
        "_loop",
        "_next",
        "_queues",
        "_share",
        "_work_clock",
        "clients_active",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        share: float,
        clock: Callable[[], float] = time.perf_counter,
        work_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        """``clock`` needs a resolution of microseconds, which loop clocks may lack.

        ``work_clock`` measures the cost of work as processor time: a turn in which other processes
        ran must not be charged to all clients that wait.
        """
        self._loop = loop
        self._share = share
        self._clock = clock
        self._work_clock = work_clock
        self._queues: FairQueues[QueuedWork] = FairQueues()
        self._next: asyncio.Handle | None = None
        self._free_s = self._busy_until_s = clock()
        self.clients_active = False
        """Set to True by channels when they answer an authenticated client."""

    @property
    def waiting(self) -> bool:
        """Return whether any work waits."""
        return bool(self._queues)

    def put(self, host: str, work: Callable[[], None]) -> QueuedWork:
        queued = QueuedWork(work)
        self._queues.put(host, queued)
        if self._next is None:
            self._schedule()
        return queued

    def _schedule(self) -> None:
        now_s = self._clock()
        if self.clients_active:
            self.clients_active = False
            self._busy_until_s = now_s + QUIET_S
        if self._free_s <= now_s or self._busy_until_s <= now_s:
            self._next = self._loop.call_soon(self._turn)
        else:
            self._next = self._loop.call_later(max(self._free_s - now_s, REST_S), self._turn)

    def _turn(self) -> None:
        began_s, worked_s = self._clock(), self._work_clock()
        try:
            # Items that were cancelled take no turn.
            while self._queues and not self._queues.take().run():
                pass
        finally:
            cost_s = (self._work_clock() - worked_s) / self._share
            # Work of cost c blocks the queue for c / share; idle time is not saved up beyond the
            # credit.
            self._free_s = max(self._free_s, began_s - CREDIT_S) + cost_s
            self._next = None
            if self._queues:
                self._schedule()
