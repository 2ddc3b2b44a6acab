"""A semaphore that is fair between keys, such as client addresses.

Waiters queue by key, and the queues take turns: an address that sends a thousand wrong passwords
waits behind its own, and another address with a single request is next.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class FairSemaphore:
    """Bounds concurrent work to ``limit``. Not thread-safe: for the event loop's thread."""

    __slots__ = ("_free", "_queues", "waiting")

    def __init__(self, limit: int) -> None:
        """Create it with all slots free; ``waiting`` counts the waiters."""
        self._free = limit
        self._queues: dict[Hashable, deque[asyncio.Future[None]]] = {}
        self.waiting = 0

    @asynccontextmanager
    async def slot(self, key: Hashable) -> AsyncIterator[None]:
        """Hold a slot for the duration of the block."""
        await self.acquire(key)
        try:
            yield
        finally:
            self.release()

    async def acquire(self, key: Hashable) -> None:
        """Wait for a slot. Cancellation while waiting leaves the queue."""
        if self._free:
            self._free -= 1
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(key, deque()).append(waiter)
        self.waiting += 1
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                self._leave(key, waiter)
            else:
                # The slot was granted in the iteration of the loop that cancelled the wait.
                self.release()
            raise
        finally:
            self.waiting -= 1

    def _leave(self, key: Hashable, waiter: asyncio.Future[None]) -> None:
        queue = self._queues.get(key, deque())
        if waiter in queue:
            queue.remove(waiter)
        if not queue:
            self._queues.pop(key, None)

    def release(self) -> None:
        """Release a slot, to the next queue if there is one."""
        while self._queues:
            key, queue = next(iter(self._queues.items()))
            # Moved to the end: each key gets one slot before any gets a second.
            del self._queues[key]
            chosen = self._first(queue)
            if queue:
                self._queues[key] = queue
            if chosen is not None:
                chosen.set_result(None)
                return
        self._free += 1

    @staticmethod
    def _first(queue: deque[asyncio.Future[None]]) -> asyncio.Future[None] | None:
        """Remove and return the first waiter of a queue that still waits."""
        while queue:
            first = queue.popleft()
            if not first.done():
                return first
        return None
