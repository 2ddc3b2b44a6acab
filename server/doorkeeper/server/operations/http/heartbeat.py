"""The lag of the event loop, measured by a timer twice a second."""

from __future__ import annotations

import asyncio
from typing import Final

BEAT_S: Final = 0.5


class Heartbeat:
    """The timer of one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lag_s = 0.0
        self._due_s = loop.time() + BEAT_S
        self._timer = loop.call_at(self._due_s, self._beat)

    @property
    def lag_s(self) -> float:
        """Return the lag of the last beat, or of the next one if that is already later."""
        return max(self._lag_s, self._loop.time() - self._due_s)

    def stop(self) -> None:
        self._timer.cancel()

    def _beat(self) -> None:
        now_s = self._loop.time()
        self._lag_s = max(0.0, now_s - self._due_s)
        self._due_s = now_s + BEAT_S
        self._timer = self._loop.call_at(self._due_s, self._beat)
