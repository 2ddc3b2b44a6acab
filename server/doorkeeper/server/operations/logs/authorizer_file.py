"""Kafka's authorizer log as a file, for existing tools.

Lines equal a broker's, byte for byte: ``[%d] %p %m (%c)%n`` in local time, with the message in the
format of ``doorkeeper.authorizer.log.format``. The file is rolled every hour, and the full one is
named by its hour, as a broker's:

    kafka-authorizer.log                  this hour's
    kafka-authorizer.log.2024-10-25-10    that of 10 o'clock

As on a broker (additivity is off), these lines are not in the server's own log. A thread writes
them; without room in its queue or on the disk, lines are dropped and counted, as in the server's
log.

Python's own ``TimedRotatingFileHandler`` would name hours by the clock at the write, count them
from the start of the process, and overwrite the hour that occurs twice at the end of summer time.

Source: ``config/log4j.properties`` and ``config/log4j2.yaml`` of the releases.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from doorkeeper.server.authorizer.authorizer_log import LOGGER_NAME
from doorkeeper.server.authorizer.contract import Threshold
from doorkeeper.server.operations.logs.levels import LEVEL_NAMES
from doorkeeper.server.operations.logs.pipeline import (
    NS_PER_S,
    QUEUED_BYTES_MAX,
    as_kafka,
    write_all,
)
from doorkeeper.server.runtime.bounded_queue import Batch, BoundedQueue
from doorkeeper.server.state.storage.files import unused_path


class AuthorizerFile:
    """A ``AuthorizerLog`` that writes to a file."""

    def __init__(
        self,
        path: Path,
        threshold: Threshold,
        *,
        now_ns: Callable[[], int],
        failed: Callable[[OSError], None],
        queued_bytes_max: int = QUEUED_BYTES_MAX,
    ) -> None:
        """``failed`` is called in the thread at the first write that fails."""
        self._path = path
        self.threshold = threshold
        self._now_ns = now_ns
        self._failed: Callable[[OSError], None] | None = failed
        self._is_new = not path.exists()
        self._descriptor = _open(path)
        self._hour = hour_of(os.fstat(self._descriptor).st_mtime_ns)
        self._lost = 0
        """Lines that had no room in the queue or on the disk, until a line says how many."""
        self._is_torn = False
        """Whether the last write may have ended in the middle of a line."""
        self._queue = BoundedQueue[tuple[int, bytes]](queued_bytes_max)
        self._queue.start(
            "doorkeeper-authz-log", self._write, end=lambda: os.close(self._descriptor)
        )

    def write(self, level: int, text: str) -> None:
        """Queue a line, if its level is enabled; drop and count it when the queue is full."""
        if level < self.threshold.level:
            return
        now_ns = self._now_ns()
        line = render(now_ns, level, text)
        if not self._queue.put((now_ns, line), len(line)):
            self._queue.lose()

    def close(self, timeout_s: float) -> None:
        """Write the queued lines within the time-out."""
        self._queue.close(timeout_s)

    def discard(self, timeout_s: float) -> None:
        """Close the file, and remove it if it is new and empty."""
        self.close(timeout_s)
        with suppress(OSError):
            if self._is_new and not self._path.stat().st_size:
                self._path.unlink()

    # --- the thread

    def _write(self, batch: Batch[tuple[int, bytes]]) -> None:
        for at_ns, line in batch.items:
            self._lost += not self._is_put(at_ns, line)
        self._lost += 0 if batch.lost is None else batch.lost.items
        if self._lost:
            now_ns = self._now_ns()
            text = f"{self._lost} lines were lost: the disk is full or too slow"
            if self._is_put(now_ns, render(now_ns, 30, text)):
                self._lost = 0

    def _is_put(self, at_ns: int, line: bytes) -> bool:
        """Write a line; return whether the disk took it."""
        hour = hour_of(at_ns)
        try:
            if hour != self._hour:
                self._roll(hour)
            write_all(self._descriptor, b"\n" + line if self._is_torn else line)
        except OSError as error:
            # The next lines try again; who runs the server is told once.
            failed, self._failed = self._failed, None
            if failed is not None:
                failed(error)
            self._is_torn = True
            return False
        self._is_torn = False
        return True

    def _roll(self, hour: str) -> None:
        if os.fstat(self._descriptor).st_size:
            # An hour occurs twice when summer time ends. The name may be gone: others move and
            # delete files too, and opening the next one may have failed before.
            with suppress(FileNotFoundError):
                full = self._path.with_name(f"{self._path.name}.{self._hour}")
                self._path.rename(unused_path(full))
            opened = _open(self._path)
            os.close(self._descriptor)
            self._descriptor = opened
        self._hour = hour


def render(now_ns: int, level: int, text: str) -> bytes:
    """Return a line as a broker's appender writes it."""
    event = {
        "timestamp_ns": now_ns,
        "level": LEVEL_NAMES[level],
        "logger": LOGGER_NAME,
        "event": text,
    }
    return as_kafka(None, "", event)


def hour_of(ns: int) -> str:
    """Return the hour, in local time, for the name of a rolled file."""
    return datetime.fromtimestamp(ns // NS_PER_S, UTC).astimezone().strftime("%Y-%m-%d-%H")


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
