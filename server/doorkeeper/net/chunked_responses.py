"""Chunked responses: built a slice at a time, between which other connections are served.

Between two slices the loop looks at all sockets, so that a small request waits for one slice at
most. One response is built at a time, in the order of the requests: what the next one asks for is
often what the one before has kept.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from doorkeeper.runtime.slices import SLICE_S

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from doorkeeper.runtime.slices import Slices

    OnBuilt = Callable[[bytearray | Exception], None]
    Leftover = Callable[[], Slices[bytearray]]


class ResponseBuild:
    """A response that is being built, or waits for the one before it."""

    __slots__ = ("_leftover", "_on_built", "_pieces")

    def __init__(
        self, pieces: Slices[bytearray], on_built: OnBuilt, leftover: Leftover | None = None
    ) -> None:
        """Wait for the turn."""
        self._pieces: Slices[bytearray] | None = pieces
        self._on_built: OnBuilt | None = on_built
        self._leftover = leftover

    def cancel(self) -> None:
        """Drop the response; what of it later ones would build again is finished in its turn."""
        if self._pieces is None or self._on_built is None:
            return
        self._pieces.close()
        self._pieces = None if self._leftover is None else self._leftover()
        self._on_built = None

    def step(self) -> bool:
        """Build the next chunk; return whether there are more. The last one calls ``on_built``."""
        if self._pieces is None:
            return False
        built: bytearray | Exception
        try:
            next(self._pieces)
        except StopIteration as end:
            built = end.value
        except Exception as error:  # noqa: BLE001 - it is this response's alone, and others wait behind it
            built = error
        else:
            return True
        self._pieces = None
        if self._on_built is not None:
            self._on_built(built)
        return False


class ChunkedResponses:
    """The responses of one server that are being built. For the loop's thread."""

    __slots__ = ("_clock", "_loop", "_next", "_waiting")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Begin with none. ``clock`` tells microseconds apart, which a loop's own may not."""
        self._loop = loop
        self._clock = clock
        self._waiting: deque[ResponseBuild] = deque()
        self._next: asyncio.Handle | None = None

    def build(
        self, pieces: Slices[bytearray], on_built: OnBuilt, leftover: Leftover | None = None
    ) -> ResponseBuild:
        """Queue a response; ``on_built`` is called once, with its body or an error.

        ``leftover`` returns what remains to be built where the response is cancelled.
        """
        build = ResponseBuild(pieces, on_built, leftover)
        self._waiting.append(build)
        self._schedule()
        return build

    def _schedule(self) -> None:
        if self._next is None and self._waiting:
            self._next = self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._next = None
        build = self._waiting.popleft()
        try:
            if self._some_of(build):
                self._waiting.appendleft(build)
        finally:
            self._schedule()

    def _some_of(self, build: ResponseBuild) -> bool:
        """Build for one slice of time; return whether there is more."""
        ends_s = self._clock() + SLICE_S
        while build.step():
            if self._clock() >= ends_s:
                return True
        return False
