"""Queues that are fair between keys, such as client addresses.

Items queue by key, and the queues take turns: an address that sends a thousand wrong passwords
waits behind its own, and another address with a single request is next. Addresses of IPv6, in
Java's eight groups, count by their /64 network: a peer there has as many as it likes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueues(Generic[T]):
    """A queue for each key that has items. Not thread-safe."""

    __slots__ = ("_queues",)

    def __init__(self) -> None:
        self._queues: dict[Hashable, deque[T]] = {}

    def __bool__(self) -> bool:
        return bool(self._queues)

    def put(self, key: Hashable, item: T) -> None:
        if isinstance(key, str) and key.count(":") == 7:
            key = key.rsplit(":", 4)[0]
        queue = self._queues.get(key)
        if queue is None:
            self._queues[key] = deque((item,))
        else:
            queue.append(item)

    def take(self) -> T:
        """Return the first item of the first queue, and move that queue to the end."""
        key, queue = next(iter(self._queues.items()))
        # At the end of the dict: each key has one turn before any has a second.
        del self._queues[key]
        item = queue.popleft()
        if queue:
            self._queues[key] = queue
        return item


class FairSemaphore:
    """Bounds concurrent work to ``limit``. Not thread-safe: for the event loop's thread."""

    __slots__ = ("_free", "_queues")

    def __init__(self, limit: int) -> None:
        """Create it with all slots free."""
        self._free = limit
        self._queues: FairQueues[asyncio.Future[None]] = FairQueues()

    @asynccontextmanager
    async def slot(self, key: Hashable) -> AsyncIterator[None]:
        """Hold a slot for the duration of the block."""
        await self.acquire(key)
        try:
            yield
        finally:
            self.release()

    async def acquire(self, key: Hashable) -> None:
        """Wait for a slot. Who is cancelled while waiting is passed over."""
        if self._free:
            self._free -= 1
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.put(key, waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():
                # The slot was granted in the iteration of the loop that cancelled the wait.
                self.release()
            raise

    def release(self) -> None:
        """Release a slot, to the next queue if there is one."""
        while self._queues:
            waiter = self._queues.take()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1
