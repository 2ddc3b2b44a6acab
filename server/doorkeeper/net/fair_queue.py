"""A fair queue for the work of connections that have not authenticated.

A client that has authenticated is answered as its bytes arrive. The work of the others (accepting
the connection, a frame of the login, a refusal) waits here in one queue for each address. The
queues take turns, one piece of work in each turn of the loop, so that the loop looks at the bytes
of authenticated clients before each. While these are active, the others together get a share of
the loop's time and no more: guessing passwords becomes slower, and a login waits for milliseconds.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

QUIET_S: Final = 0.1
"""Authenticated clients that have been silent for so long are not active."""

REST_S: Final = 0.001
"""The event loop's timers are no finer."""

CREDIT_S: Final = 0.002
"""Time unused is made up for to this extent: a timer of a millisecond may come after two."""


class QueuedWork:
    """A piece of work that waits for its turn."""

    __slots__ = ("_work",)

    def __init__(self, work: Callable[[], None]) -> None:
        """Wait."""
        self._work: Callable[[], None] | None = work

    def cancel(self) -> None:
        """Make ``run`` do nothing."""
        self._work = None

    def run(self) -> bool:
        """Do the work; return False where it was cancelled."""
        work, self._work = self._work, None
        if work is None:
            return False
        work()
        return True


class FairQueue:
    """The queues of all addresses. For the loop's thread."""

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
        """Begin empty. ``clock`` tells microseconds apart, which a loop's own may not.

        ``work_clock`` tells what work costs: the processor's time, so that a turn in which other
        programs had the processor does not keep all of them waiting for ten times as long.
        """
        self._loop = loop
        self._share = share
        self._clock = clock
        self._work_clock = work_clock
        self._queues: dict[str, deque[QueuedWork]] = {}
        self._next: asyncio.Handle | None = None
        self._free_s = self._busy_until_s = clock()
        self.clients_active = False
        """Set to True whenever a client that has authenticated is answered."""

    @property
    def waiting(self) -> bool:
        """Say whether any work waits."""
        return bool(self._queues)

    def put(self, host: str, work: Callable[[], None]) -> QueuedWork:
        """Add work to the queue of an address."""
        queued = QueuedWork(work)
        queue = self._queues.get(host)
        if queue is None:
            self._queues[host] = deque((queued,))
        else:
            queue.append(queued)
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
            self._take_one()
        finally:
            cost_s = (self._work_clock() - worked_s) / self._share
            self._free_s = max(self._free_s, began_s - CREDIT_S) + cost_s
            self._next = None
            if self._queues:
                self._schedule()

    def _take_one(self) -> None:
        """Do the first work of the first queue, and put the queue behind the others."""
        while self._queues:
            host, queue = next(iter(self._queues.items()))
            del self._queues[host]
            queued = queue.popleft()
            if queue:
                self._queues[host] = queue
            if queued.run():
                return
