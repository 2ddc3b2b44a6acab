"""What is told of handshakes that fail: a line for each, but no flood.

A client with a wrong certificate comes again several times a second, and a scanner is no reason to
fill a disk: after some lines the others of that time are counted, and the count is told.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from doorkeeper.logger import Logger

LINES_MAX: Final = 10
WINDOW_S: Final = 10.0
"""So many lines in so much time, on each listener."""


class HandshakeLog:
    """The lines of one listener. ``failures`` counts all of them."""

    __slots__ = ("_listener", "_logger", "_told", "_untold", "_window", "failures")

    def __init__(self, listener_name: str, logger: Logger) -> None:
        """Begin with nothing told."""
        self._listener = listener_name
        self._logger = logger
        self.failures = 0
        self._told = 0
        self._untold = 0
        self._window: asyncio.TimerHandle | None = None

    def failed(self, connection: str, reason: str) -> None:
        """Tell of a handshake that failed."""
        self.failures += 1
        if self._window is None:
            self._window = asyncio.get_running_loop().call_later(WINDOW_S, self._over)
        if self._told >= LINES_MAX:
            self._untold += 1
            return
        self._told += 1
        self._logger.info(
            "failed TLS handshake", listener=self._listener, connection=connection, reason=reason
        )

    def close(self) -> None:
        """Tell what is left."""
        if self._window is not None:
            self._window.cancel()
            self._over()

    def _over(self) -> None:
        if self._untold:
            self._logger.info(
                "failed TLS handshakes that were not told",
                listener=self._listener,
                count=self._untold,
            )
        self._told = self._untold = 0
        self._window = None
