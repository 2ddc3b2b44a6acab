"""Large requests of all connections: one thread handles them, one after the other.

One thread, because it shares Python's lock with the event loop: with each further one the loop
would wait longer for its turn.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from doorkeeper.base.slices import run_in_turns
from doorkeeper.server.runtime.threads import OnLoop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from concurrent.futures import Future

    from doorkeeper.server.net.protocol.large_request import LargeRequest

    OnHandled = Callable[[], None]


class LargeRequests:
    """The thread, and the requests that it handles. For the event loop's thread."""

    __slots__ = ("_loop", "_tasks", "_thread")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="doorkeeper-large")
        # The event loop has only weak references to tasks.
        self._tasks: set[asyncio.Task[None]] = set()

    def handle(self, request: LargeRequest, on_handled: OnHandled) -> Handling:
        """Handle a request at the present state; ``on_handled`` is called when it is settled."""
        request.begin(partial(OnLoop, loop=self._loop))
        done = self._thread.submit(request.run)
        handling = Handling(done, on_handled)
        done.add_done_callback(partial(self._settle_soon, request, handling))
        return handling

    def close(self) -> None:
        """Drop the requests that wait."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _settle_soon(self, request: LargeRequest, handling: Handling, done: Future[None]) -> None:
        """Continue on the event loop; called in the thread, or by a cancellation."""
        if not done.cancelled():
            with suppress(RuntimeError):  # the loop may be closed by now
                self._loop.call_soon_threadsafe(self._settle, request, handling)

    def _settle(self, request: LargeRequest, handling: Handling) -> None:
        task = self._loop.create_task(self._run(request, handling))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, request: LargeRequest, handling: Handling) -> None:
        # Also if the client has left: it was allowed or denied what it asked for.
        await run_in_turns(request.settle(), time.perf_counter)
        if handling.on_handled is not None:
            handling.on_handled()


class Handling:
    """A request that the thread handles, or that waits for it."""

    __slots__ = ("_done", "on_handled")

    def __init__(self, done: Future[None], on_handled: OnHandled) -> None:
        self._done = done
        self.on_handled: OnHandled | None = on_handled
        """None once the client has left."""

    def cancel(self) -> None:
        """Drop a request that has not begun, and the answer of one that has."""
        self.on_handled = None
        self._done.cancel()
