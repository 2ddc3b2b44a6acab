"""Answers that take long to make: a piece in each turn of the event loop, one after the other.

Between two pieces the loop looks at everybody's bytes, so that a small request waits for one
piece at most, whoever reads how much. One answer is made at a time, in the order in which they
were asked for: what the next one asks for is often what the one before has left.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from doorkeeper.pieces import Pieces

    OnMade = Callable[[bytes | Exception], None]

TURN_S: Final = 0.001
"""So much is done in one turn: others' small requests take some ten microseconds each."""


class Making:
    """An answer that is being made, or waits to be."""

    __slots__ = ("_on_made", "_pieces")

    def __init__(self, pieces: Pieces[bytes], on_made: OnMade) -> None:
        """Wait."""
        self._pieces: Pieces[bytes] | None = pieces
        self._on_made = on_made

    def cancel(self) -> None:
        """Make no more of it, and let go of what there is."""
        if self._pieces is not None:
            self._pieces.close()
            self._pieces = None

    def step(self) -> bool:
        """Make the next piece; say whether there are more. Behind the last it is told."""
        if self._pieces is None:
            return False
        made: bytes | Exception
        try:
            next(self._pieces)
        except StopIteration as end:
            made = end.value
        except Exception as error:  # noqa: BLE001 - it is the answer's, and others wait behind it
            made = error
        else:
            return True
        self._pieces = None
        self._on_made(made)
        return False


class LongAnswers:
    """All that are being made. For the loop's thread."""

    __slots__ = ("_clock", "_loop", "_next", "_waiting")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Begin with none. ``clock`` tells microseconds apart, which a loop's own may not."""
        self._loop = loop
        self._clock = clock
        self._waiting: deque[Making] = deque()
        self._next: asyncio.Handle | None = None

    def make(self, pieces: Pieces[bytes], on_made: OnMade) -> Making:
        """Make an answer when its turn comes; ``on_made`` is called once, with it or an error."""
        making = Making(pieces, on_made)
        self._waiting.append(making)
        self._schedule()
        return making

    def _schedule(self) -> None:
        if self._next is None and self._waiting:
            self._next = self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._next = None
        making = self._waiting.popleft()
        try:
            if self._some_of(making):
                self._waiting.appendleft(making)
        finally:
            self._schedule()

    def _some_of(self, making: Making) -> bool:
        """Make as much of an answer as a turn allows; say whether there is more."""
        ends_s = self._clock() + TURN_S
        while making.step():
            if self._clock() >= ends_s:
                return True
        return False
