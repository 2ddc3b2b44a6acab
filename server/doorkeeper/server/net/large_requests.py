"""Large requests of all connections: one thread handles them, one after the other.

One thread, because it shares Python's lock with the event loop: with each further one the loop
would wait longer for its turn.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from doorkeeper.base.slices import run_in_turns
from doorkeeper.server.runtime.threads import OnLoop

if TYPE_CHECKING:
    from doorkeeper.server.net.protocol.large_request import LargeRequest


class LargeRequests:
    """The thread, and the requests that it handles. For the event loop's thread."""

    __slots__ = ("_loop", "_tasks", "_thread")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="doorkeeper-large")
        # The event loop has only weak references to tasks.
        self._tasks: set[asyncio.Task[None]] = set()

    async def handle(self, request: LargeRequest) -> None:
        """Handle a request at the present state, and settle what was decided.

        A cancellation drops a request that has not begun; one that has is settled all the same: the
        client was allowed or denied what it asked for.
        """
        request.begin(partial(OnLoop, loop=self._loop))
        done = self._thread.submit(request.run)
        task = self._loop.create_task(self._settle(request, done))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            done.cancel()
            raise

    async def _settle(self, request: LargeRequest, done: Future[None]) -> None:
        await asyncio.wrap_future(done)
        await run_in_turns(request.settle(), time.perf_counter)

    def close(self) -> None:
        """Drop the requests that wait."""
        self._thread.shutdown(wait=False, cancel_futures=True)
