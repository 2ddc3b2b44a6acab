"""One process at a time changes an output folder: ``.lock`` is held while it lives."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from doorkeeper_pipeline.errors import Busy, PipelineError
from doorkeeper_pipeline.tables.places import is_address

LOCK = ".lock"


@contextmanager
def lock(out: Path | str) -> Iterator[None]:
    """Hold the lock of an output folder. An object store has none: there the commit finds out.

    Raises:
        Busy: another process holds it.
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
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Busy(f"{root}: another doorkeeper-pipeline is writing there") from error
        yield
