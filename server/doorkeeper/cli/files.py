"""Files that commands read, and those that they replace as a whole.

A crash leaves the old or the new content.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from doorkeeper.base.encodings import not_utf8
from doorkeeper.cli.terminal import FAILED, fail


def read_text(path: Path, status: int = FAILED) -> str:
    """Return the text of a file; an error ends the process with ``status``."""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        fail([f"{path}: {error.strerror}"], status)
    except UnicodeDecodeError as error:
        fail([f"{path}: {not_utf8(error)}"], status)


def write_text(path: Path, text: str, status: int = FAILED) -> None:
    """Replace a file as a whole; an error ends the process with ``status``."""
    try:
        write_whole(path, text.encode())
    except OSError as error:
        fail([f"{path}: {error.strerror}"], status)


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
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
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
        temporary.replace(target)
    except BaseException:
        # Ctrl-C too must leave no temporary file behind.
        with suppress(OSError):
            temporary.unlink()
        raise
