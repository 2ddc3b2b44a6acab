"""The log of a command that does not serve: warnings and errors, on stderr."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from doorkeeper.server.operations.logs.pipeline import Logs

# The log comes first: it keeps structlog from importing rich and greenlet.
from doorkeeper.server.runtime.lean_structlog import structlog

STDERR: Final = 2


@contextmanager
def command_logs(least_level: int = logging.WARNING) -> Iterator[Logs]:
    """Log events of plug-ins and parts of the server until the end of the block."""
    root, configuration = logging.root, structlog.get_config()
    handlers, level = root.handlers, root.level
    logs = Logs(
        descriptor=STDERR,
        form="console",
        terminal=os.isatty(STDERR),
        levels={"root": least_level},
        now_ns=time.time_ns,
    )
    try:
        yield logs
    finally:
        logs.close()
        structlog.configure(**configuration)
        root.handlers, root.level = handlers, level
