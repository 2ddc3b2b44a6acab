"""Chunked responses: built in time slices, between which other connections are served.

Responses are built one at a time, in the order of the requests: the next one often reuses rows
that the one before has cached.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from doorkeeper.base.slices import run_for_a_turn

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from doorkeeper.base.slices import Slices

    OnBuilt = Callable[[bytearray | Exception], None]
    Leftover = Callable[[], Slices[bytearray]]


class ResponseBuild:
    """A response that is being built or waits in the queue."""

    __slots__ = ("_chunks", "_leftover", "_on_built")

    def __init__(
        self, chunks: Slices[bytearray], on_built: OnBuilt, leftover: Leftover | None = None
    ) -> None:
        self._chunks: Slices[bytearray] | None = chunks
        self._on_built: OnBuilt | None = on_built
        self._leftover = leftover

    def cancel(self) -> None:
        """Drop the response; rows that later responses reuse are still completed in its turn."""
        if self._chunks is None or self._on_built is None:
            return
        self._chunks.close()
        # Another client often asks for the same description: its rows are completed for the cache.
        self._chunks = None if self._leftover is None else self._leftover()
        self._on_built = None

    def run(self, clock: Callable[[], float]) -> bool:
        """Build for one turn; return whether there is more. The last one calls ``on_built``."""
        if self._chunks is None:
            return False
        built: bytearray | Exception
        try:
            run_for_a_turn(self._chunks, clock)
        except StopIteration as end:
            built = end.value
        except Exception as error:  # it is this response's alone, and others wait behind it
            built = error
        else:
            return True
        self._chunks = None
        if self._on_built is not None:
            self._on_built(built)
        return False


class ChunkedResponses:
    """The queue of responses that one server builds. Not thread-safe."""

    __slots__ = ("_clock", "_loop", "_next", "_waiting")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """``clock`` needs a resolution of microseconds, which loop clocks may lack."""
        self._loop = loop
        self._clock = clock
        self._waiting: deque[ResponseBuild] = deque()
        self._next: asyncio.Handle | None = None

    def build(
        self, chunks: Slices[bytearray], on_built: OnBuilt, leftover: Leftover | None = None
    ) -> ResponseBuild:
        """Queue a response; ``on_built`` is called once, with its body or an error.

        ``leftover`` returns the work that remains after a cancellation.
        """
        build = ResponseBuild(chunks, on_built, leftover)
        self._waiting.append(build)
        self._schedule()
        return build

    def _schedule(self) -> None:
        if self._next is None and self._waiting:
            # One callback at a time, so that the loop polls its sockets between two slices.
            self._next = self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._next = None
        build = self._waiting.popleft()
        try:
            if build.run(self._clock):
                # First in, first out: the next description usually reuses the rows of this one.
                self._waiting.appendleft(build)
        finally:
            self._schedule()
