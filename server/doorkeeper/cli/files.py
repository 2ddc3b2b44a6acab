"""Files that commands replace as a whole, so that a crash leaves the old or the new content."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file atomically and keep its mode; links are followed.

    Anything but a regular file (a pipe, ``/dev/stdout``) is written to directly, and so is a file
    in a folder that is not writable.

    Raises:
        OSError: it cannot be written; a regular file keeps its content.
    """
    try:
        before = path.stat()
    except FileNotFoundError:
        before = None
    if before is not None and not stat.S_ISREG(before.st_mode):
        path.write_bytes(data)
        return
    # The target of a symbolic link is replaced, not the link.
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.{os.getpid()}")
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
            # Without it, a power failure after the rename may leave an empty file.
            os.fsync(descriptor)
        beside.replace(target)
    except BaseException:
        # Ctrl-C too must leave no temporary file behind.
        with suppress(OSError):
            beside.unlink()
        raise
