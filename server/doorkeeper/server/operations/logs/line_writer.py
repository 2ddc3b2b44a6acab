"""Writes lines to a descriptor in its own thread, so that a slow reader delays no logger.

Without room in the queue new lines are dropped, and their number is a line of its own later.
"""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING, Final

from doorkeeper.server.runtime.bounded_queue import BoundedQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.server.runtime.bounded_queue import Batch

QUEUED_BYTES_MAX: Final = 8 * 1024 * 1024
"""About 40,000 authorizer log lines: a second of denials at full speed."""


class LineWriter:
    """A queue and its thread. Thread-safe; never blocks."""

    def __init__(
        self,
        descriptor: int,
        lost_line: Callable[[int], bytes],
        *,
        queued_bytes_max: int = QUEUED_BYTES_MAX,
    ) -> None:
        """``lost_line`` renders the line with the number of dropped lines."""
        self._descriptor = descriptor
        self._lost_line = lost_line
        self._broken = False
        self._queue = BoundedQueue[bytes](queued_bytes_max)
        self._queue.start("doorkeeper-log", self._write)

    def write(self, line: bytes) -> None:
        """Queue a line, which ends with a newline; drop and count it when the queue is full."""
        if not self._queue.put(line, len(line)):
            self._queue.lose()

    def close(self, timeout_s: float) -> None:
        """Write the queued lines, as far as the reader takes them within the time-out."""
        self._queue.close(timeout_s)

    def _write(self, batch: Batch[bytes]) -> None:
        # After the lines that had room, so that the count stands where lines are missing.
        lost = [] if batch.lost is None else [self._lost_line(batch.lost.items)]
        try:
            if not self._broken:
                write_all(self._descriptor, b"".join((*batch.items, *lost)))
        except OSError:
            # The reader is gone for good; there is nowhere to report it.
            self._broken = True


def write_all(descriptor: int, data: bytes) -> None:
    """Write all data, also to a non-blocking descriptor, which stdout may be.

    Raises:
        OSError: the descriptor takes no more.
    """
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            # stdout may be shared with a process that made it non-blocking.
            select.select([], [descriptor], [])
