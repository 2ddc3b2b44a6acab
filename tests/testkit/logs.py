"""A log whose lines a test can read."""

from __future__ import annotations

import json
import logging
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import structlog

from doorkeeper.server.operations.logs.pipeline import Logs

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
    """Log to a file until the end of the block; leave structlog and logging as they were."""
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
        structlog.reset_defaults()
