"""Kafka's authorizer log as a file, for existing tools.

Lines equal a broker's, byte for byte: ``[%d] %p %m (%c)%n`` in local time, with the message in the
format of ``doorkeeper.authorizer.log.format``. The file is rolled every hour, and the full one is
named by its hour, as a broker's:

    kafka-authorizer.log                  this hour's
    kafka-authorizer.log.2024-10-25-10    that of 10 o'clock

As on a broker (additivity is off), these lines are not in the server's own log. A thread writes
them; when its queue is full, lines are dropped and counted, as in the server's log.

Source: ``config/log4j.properties`` and ``config/log4j2.yaml`` of the releases.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from doorkeeper.server.authorizer.authorizer_log import LOGGER_NAME
from doorkeeper.server.operations.logs.rendering import NS_PER_S, as_kafka

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from doorkeeper.server.authorizer.authorizer_log import Threshold

QUEUED_BYTES_MAX: Final = 8 * 1024 * 1024
"""As for the server's log: a second of denials at full speed."""

LEVEL_NAMES: Final = {5: "TRACE", 10: "DEBUG", 20: "INFO", 30: "WARN"}


class Levels(Protocol):
    """The threshold of the authorizer's logger."""

    @property
    def threshold(self) -> Threshold: ...


class AuthorizerFile:
    """A ``AuthorizerLog`` that writes to a file."""

    def __init__(
        self,
        path: Path,
        levels: Levels,
        *,
        now_ns: Callable[[], int],
        failed: Callable[[OSError], None],
        queued_bytes_max: int = QUEUED_BYTES_MAX,
    ) -> None:
        """``failed`` is called in the thread at the first write that fails.

        Raises:
            OSError: the file cannot be opened.
        """
        self._path = path
        self.threshold = levels.threshold
        self._now_ns = now_ns
        self._failed: Callable[[OSError], None] | None = failed
        self._queued_bytes_max = queued_bytes_max
        self._descriptor = _open(path)
        self._hour = hour_of(os.fstat(self._descriptor).st_mtime_ns)
        self._lines: deque[tuple[str, bytes]] = deque()
        self._queued_bytes = 0
        self._lost = 0
        self._closing = False
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="doorkeeper-authz-log", daemon=True)
        self._thread.start()

    def write(self, level: int, text: str) -> None:
        """Queue a line, if its level is enabled; drop and count it when the queue is full."""
        if level < self.threshold.level:
            return
        now_ns = self._now_ns()
        line = render(now_ns, level, text)
        with self._wake:
            if self._queued_bytes + len(line) > self._queued_bytes_max:
                self._lost += 1
                return
            self._lines.append((hour_of(now_ns), line))
            self._queued_bytes += len(line)
            self._wake.notify()

    def close(self, timeout_s: float) -> None:
        """Write the queued lines within the time-out."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join(timeout_s)

    # --- the thread

    def _run(self) -> None:
        while lines := self._next():
            for hour, line in lines:
                try:
                    self._put(hour, line)
                except OSError as error:
                    # The next lines try again; who runs the server is told once.
                    failed, self._failed = self._failed, None
                    if failed is not None:
                        failed(error)
            with self._wake:
                self._queued_bytes -= sum(len(line) for _, line in lines)
        os.close(self._descriptor)

    def _next(self) -> list[tuple[str, bytes]]:
        with self._wake:
            while not self._lines and not self._lost and not self._closing:
                self._wake.wait()
            lines = list(self._lines)
            self._lines.clear()
            if self._lost:
                now_ns = self._now_ns()
                line = render(now_ns, 30, f"{self._lost} lines were lost: the disk is too slow")
                lines.append((hour_of(now_ns), line))
                self._queued_bytes += len(line)
                self._lost = 0
            return lines

    def _put(self, hour: str, line: bytes) -> None:
        if hour != self._hour:
            self._roll(hour)
        view = memoryview(line)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def _roll(self, hour: str) -> None:
        if os.fstat(self._descriptor).st_size:
            self._path.rename(_free(self._path.with_name(f"{self._path.name}.{self._hour}")))
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


def _free(path: Path) -> Path:
    """Return an unused name: an hour occurs twice when summer time ends."""
    free, number = path, 2
    while free.exists():
        free = path.with_name(f"{path.name}-{number}")
        number += 1
    return free
