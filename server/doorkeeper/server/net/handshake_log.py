"""Log lines of failed TLS handshakes, rate limited.

A client with a wrong certificate reconnects several times a second. Beyond ``LINES_MAX`` lines in
``WINDOW_S``, failures are counted and the count is logged.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from doorkeeper.server.runtime.logger import Logger

LINES_MAX: Final = 10
WINDOW_S: Final = 10.0
"""The window of ``LINES_MAX``, for each listener."""


class HandshakeLog:
    """The lines of one listener. ``failures`` counts all of them."""

    __slots__ = ("_lines", "_listener", "_logger", "_omitted", "_window", "failures")

    def __init__(self, listener_name: str, logger: Logger) -> None:
        self._listener = listener_name
        self._logger = logger
        self.failures = 0
        self._lines = 0
        self._omitted = 0
        self._window: asyncio.TimerHandle | None = None

    def record_failure(self, connection: str, reason: str) -> None:
        self.failures += 1
        if self._window is None:
            # The timer starts with a failure: without failures there are no wake-ups.
            self._window = asyncio.get_running_loop().call_later(WINDOW_S, self._over)
        if self._lines >= LINES_MAX:
            self._omitted += 1
            return
        self._lines += 1
        self._logger.info(
            "failed TLS handshake", listener=self._listener, connection=connection, reason=reason
        )

    def close(self) -> None:
        """Log the count of omitted lines."""
        if self._window is not None:
            self._window.cancel()
            self._over()

    def _over(self) -> None:
        if self._omitted:
            self._logger.info(
                "failed TLS handshakes, not logged one by one",
                listener=self._listener,
                count=self._omitted,
            )
        self._lines = self._omitted = 0
        self._window = None
