"""Large requests of all connections: one thread handles them, and addresses take turns.

One thread, because it shares Python's lock with the event loop: with each further one the loop
would wait longer for its turn.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from doorkeeper.base.slices import run_in_turns
from doorkeeper.server.net.protocol.large_request import LargeRequest
from doorkeeper.server.runtime.fair_queues import FairSemaphore
from doorkeeper.server.runtime.threads import OnLoop


class LargeRequests:
    """The thread, and the requests that it handles. For the event loop's thread."""

    __slots__ = ("_loop", "_tasks", "_thread", "_turn")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="doorkeeper-large")
        self._turn = FairSemaphore(1)
        # The event loop has only weak references to tasks.
        self._tasks: set[asyncio.Task[None]] = set()

    async def handle(self, request: LargeRequest) -> None:
        """Handle a request at the state of its turn, and settle what was decided.

        A cancellation drops a request that has not begun; one that has is settled all the same: the
        client was allowed or denied what it asked for.
        """
        await self._turn.acquire(request.connection.peer.host)
        task = self._loop.create_task(self._run(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.shield(task)

    async def _run(self, request: LargeRequest) -> None:
        try:
            request.begin(partial(OnLoop, loop=self._loop))
            await asyncio.wrap_future(self._thread.submit(request.run))
        finally:
            self._turn.release()
        await run_in_turns(request.settle(), time.perf_counter)

    def close(self) -> None:
        """Drop the requests that wait."""
        self._thread.shutdown(wait=False, cancel_futures=True)
