"""Log lines about the input of peers: long values are cut, and floods are counted.

A client that is refused can come again as often as it likes, with names of 32 kB, before it has
logged in. Beyond ``LINES_MAX`` lines of an event in ``WINDOW_S``, the lines are counted and the
count is logged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from doorkeeper.server.runtime.logger import Logger

LINES_MAX: Final = 100
WINDOW_S: Final = 10.0
"""The window of ``LINES_MAX`` for each event."""

TEXT_CHARACTERS_MAX: Final = 500
"""A longer value of a field is cut."""


class Flood:
    """The lines of each event in a window of time: so many are logged, the others counted."""

    __slots__ = ("_lines", "_lines_max", "_loop", "_omitted", "_tell", "_window")

    def __init__(
        self, lines_max: int, loop: asyncio.AbstractEventLoop, tell: Callable[[str, int], object]
    ) -> None:
        """``tell`` logs how many lines of an event were omitted."""
        self._lines_max = lines_max
        self._loop = loop
        self._tell = tell
        self._lines: dict[str, int] = {}
        self._omitted: dict[str, int] = {}
        self._window: asyncio.TimerHandle | None = None

    def admits(self, event: str) -> bool:
        # The timer starts with a line: without lines there are no wake-ups.
        if self._window is None:
            self._window = self._loop.call_later(WINDOW_S, self._end_window)
        lines = self._lines.get(event, 0)
        if lines >= self._lines_max:
            self._omitted[event] = self._omitted.get(event, 0) + 1
            return False
        self._lines[event] = lines + 1
        return True

    def close(self) -> None:
        """Log the counts of omitted lines."""
        if self._window is not None:
            self._window.cancel()
            self._end_window()

    def _end_window(self) -> None:
        self._window = None
        self._lines.clear()
        omitted, self._omitted = self._omitted, {}
        for event, count in omitted.items():
            self._tell(event, count)


class PeerLog:
    """The lines of one server. Not thread-safe."""

    __slots__ = ("_flood", "_logger", "close")

    def __init__(self, logger: Logger, loop: asyncio.AbstractEventLoop) -> None:
        self._logger = logger
        self._flood = Flood(
            LINES_MAX,
            loop,
            lambda event, count: logger.warning("log lines omitted", of=event, count=count),
        )
        self.close = self._flood.close

    def info(self, event: str, **fields: object) -> None:
        """Log an event that operators may want to know."""
        self._write(self._logger.info, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Log that a peer does something wrong."""
        self._write(self._logger.warning, event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Log that the server, or a plug-in, fails on the input of a peer."""
        self._write(self._logger.error, event, fields)

    def _write(self, write: Callable[..., object], event: str, fields: dict[str, object]) -> None:
        if self._flood.admits(event):
            write(event, **{name: _shorten(value) for name, value in fields.items()})


def _shorten(value: object) -> object:
    """Cut a long text: names in it come from the client."""
    if not isinstance(value, str) or len(value) <= TEXT_CHARACTERS_MAX:
        return value
    return f"{value[:TEXT_CHARACTERS_MAX]}... ({len(value)} characters)"
