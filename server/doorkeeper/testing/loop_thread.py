"""An event loop in a thread of its own, with synchronous calls from tests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from doorkeeper.server.net.loops import new_runner

T = TypeVar("T")

WAIT_S: Final = 60.0
"""Operations of a test take milliseconds; the timeout ends a hanging run."""


class LoopThread:
    """Runs one event loop until ``close``."""

    def __init__(self, name: str = "doorkeeper-testing") -> None:
        """Start the thread; return when the loop runs."""
        self._running = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        if not self._running.wait(WAIT_S):
            raise TimeoutError(f"no event loop after {WAIT_S:.0f} s")

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop; return its result or raise its exception."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("asked from the server's own thread, which would wait for itself")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_S)

    def close(self) -> None:
        """Stop the loop and the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(WAIT_S)

    def _run(self) -> None:
        with new_runner() as runner:
            runner.run(self._until_closed())

    async def _until_closed(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        self._running.set()
        await self._end.wait()
