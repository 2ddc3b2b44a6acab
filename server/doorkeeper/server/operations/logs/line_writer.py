"""Writes lines to a descriptor in its own thread, so that a slow reader delays no logger.

Lines wait in a bounded queue. When it is full, new lines are dropped and counted, and the count is
written as a line as soon as there is room.
"""

from __future__ import annotations

import os
import select
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

QUEUED_BYTES_MAX: Final = 8 * 1024 * 1024
"""About 40,000 authorizer log lines: a second of denials at full speed."""

BATCH_BYTES: Final = 64 * 1024
"""The largest write: the size of a pipe on Linux."""


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
        self._queued_bytes_max = queued_bytes_max
        self._lines: deque[bytes] = deque()
        self._queued_bytes = 0
        self._lost = 0
        self._closing = False
        self._broken = False
        self._wake = threading.Condition()
        # A daemon: a reader of the log that hangs must not keep the process alive.
        self._thread = threading.Thread(target=self._run, name="doorkeeper-log", daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        """Queue a line, which ends with a newline; drop and count it when the queue is full."""
        with self._wake:
            if self._closing or self._broken:
                return
            if self._queued_bytes + len(line) > self._queued_bytes_max:
                self._lost += 1
                return
            self._lines.append(line)
            self._queued_bytes += len(line)
            self._wake.notify()

    def close(self, timeout_s: float) -> None:
        """Write the queued lines, as far as the reader takes them within the time-out."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while batch := self._next():
            try:
                _write_all(self._descriptor, batch)
            except OSError:
                # The reader is gone for good; there is nowhere to tell it.
                with self._wake:
                    self._broken = True
                    self._lines.clear()
                return
            with self._wake:
                self._queued_bytes -= len(batch)

    def _next(self) -> bytes:
        """Wait for lines; return a batch, or nothing at the end.

        The bytes of a batch count as queued until they are written.
        """
        with self._wake:
            while not self._lines and not self._lost and not self._closing:
                self._wake.wait()
            batch = []
            size = 0
            while self._lines and size < BATCH_BYTES:
                batch.append(self._lines.popleft())
                size += len(batch[-1])
            # After the queued lines, so that the count stands where the lines are missing.
            if self._lost and not self._lines:
                batch.append(self._lost_line(self._lost))
                self._queued_bytes += len(batch[-1])
                self._lost = 0
            return b"".join(batch)


def _write_all(descriptor: int, data: bytes) -> None:
    """Write all data, also to a non-blocking descriptor, which stdout may be."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            # stdout may be shared with a process that made it non-blocking.
            select.select([], [descriptor], [])
