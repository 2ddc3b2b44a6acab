"""Files that commands write: the whole of it or nothing, whatever happens meanwhile."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in the place of another, with the same mode; links are followed.

    What is no plain file (a pipe, ``/dev/stdout``) is written to as it is, and so is a file in a
    folder where none can be made beside it.

    Raises:
        OSError: it cannot be written; what was there stays, where it is a plain file.

    """
    try:
        before = path.stat()
    except FileNotFoundError:
        before = None
    if before is not None and not stat.S_ISREG(before.st_mode):
        path.write_bytes(data)
        return
    place = Path(os.path.realpath(path))
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except PermissionError:
        if before is None:
            raise
        path.write_bytes(data)
        return
    try:
        with os.fdopen(descriptor, "wb") as file:
            if before is not None:
                os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        beside.replace(place)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
