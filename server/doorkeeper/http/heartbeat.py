"""How late the event loop is: a beat that should come twice a second, and when it came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio

BEAT_S: Final = 0.5


class Heartbeat:
    """The beat of one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to beat."""
        self._loop = loop
        self._lag_s = 0.0
        self._due_s = loop.time() + BEAT_S
        self._timer = loop.call_at(self._due_s, self._beat)

    @property
    def lag_s(self) -> float:
        """Return how late the last beat was, or how late the next one is by now."""
        return max(self._lag_s, self._loop.time() - self._due_s)

    def stop(self) -> None:
        """Beat no more."""
        self._timer.cancel()

    def _beat(self) -> None:
        now_s = self._loop.time()
        self._lag_s = max(0.0, now_s - self._due_s)
        self._due_s = now_s + BEAT_S
        self._timer = self._loop.call_at(self._due_s, self._beat)
