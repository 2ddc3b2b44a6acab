"""A log whose lines a test can read."""

from __future__ import annotations

import json
import logging
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from doorkeeper.event_log import Event
from doorkeeper.logs.pipeline import Logs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


class ReadableLogs:
    """A process's log that goes to a file."""

    def __init__(self, logs: Logs, path: Path) -> None:
        self.logs = logs
        self._path = path

    def lines(self) -> list[dict[str, Any]]:
        """End the log; return its lines."""
        self.logs.close()
        return [json.loads(line) for line in self._path.read_text(encoding="utf-8").splitlines()]


@contextmanager
def readable_logs(path: Path, levels: Mapping[str, int] | None = None) -> Iterator[ReadableLogs]:
    """Log to a file until the end of the block; leave logging as it was."""
    root = logging.root
    handlers, level = root.handlers, root.level
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    logs = Logs(
        descriptor=descriptor,
        form="json",
        terminal=False,
        levels=levels or {},
        now_ns=lambda: 0,
    )
    try:
        yield ReadableLogs(logs, path)
    finally:
        logs.set_levels({})
        logs.close()
        os.close(descriptor)
        root.handlers, root.level = handlers, level


class _Capture(logging.Handler):
    """Keeps the events of ``doorkeeper.event_log`` as mappings."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.msg, Event):
            event = {"event": record.msg.text, "exc_info": record.exc_info}
            self.events.append(event | record.msg.fields)


@contextmanager
def captured_events() -> Iterator[list[dict[str, Any]]]:
    """Give the events of all levels that are logged without a logger of ``Logs``, as they come."""
    capture, level = _Capture(), logging.root.level
    logging.root.addHandler(capture)
    logging.root.setLevel(logging.DEBUG)
    try:
        yield capture.events
    finally:
        logging.root.setLevel(level)
        logging.root.removeHandler(capture)
