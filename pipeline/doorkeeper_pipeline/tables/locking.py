"""One process at a time changes an output folder: ``.lock`` is held while it lives."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from doorkeeper_pipeline.errors import Busy, PipelineError
from doorkeeper_pipeline.tables.places import is_address

LOCK = ".lock"
WAIT_S = 300
"""A run that follows a log holds the lock for each batch; a nightly one waits for it."""


@contextmanager
def lock(out: Path | str, tell: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Hold the lock of an output folder. An object store has none: there the commit finds out.

    Raises:
        Busy: another process holds it for more than WAIT_S.
        PipelineError: the folder cannot be made or written.

    """
    if is_address(out):
        yield
        return
    root = Path(out)
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = (root / LOCK).open("a")
    except OSError as error:
        raise PipelineError(f"{root}: {error.strerror}") from error
    with lock:
        for second in range(WAIT_S + 1):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if second == WAIT_S:
                    raise Busy(f"{root}: another doorkeeper-pipeline is writing there") from error
                if second == 0:
                    tell("another doorkeeper-pipeline is writing there: waiting for it")
                time.sleep(1)
            else:
                break
        yield
