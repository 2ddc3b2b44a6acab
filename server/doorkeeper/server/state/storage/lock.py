"""A lock that allows one process for each data folder; the kernel releases it, also on kill -9."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Self

from doorkeeper.server.state.storage.files import LOCK_NAME, open_private
from doorkeeper.server.state.store import StorageError, StoreInUse

_HELD_ELSEWHERE = (errno.EWOULDBLOCK, errno.EACCES)


class DataLock:
    """The right to write to a data folder. The file stays; only the lock on it counts."""

    def __init__(self, folder: Path) -> None:
        """Take the lock, and write the process id into its file.

        Raises:
            StoreInUse: another process has it; the text names that process.
            StorageError: the file system has no locks.
        """
        self._path = folder / LOCK_NAME
        self._descriptor = _locked(self._path)
        while not _is_of(self._path, self._descriptor):
            # A start that failed has removed the file, with its new store.
            os.close(self._descriptor)
            self._descriptor = _locked(self._path)
        # A full disk must not prevent the start.
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.release()

    def remove(self) -> None:
        """Remove the file; the lock is still held."""
        self._path.unlink(missing_ok=True)

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _locked(path: Path) -> int:
    descriptor = open_private(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
    try:
        # flock, not lockf: POSIX locks are lost when the process closes any descriptor of the file.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = _holder(descriptor)
        os.close(descriptor)
        if error.errno in _HELD_ELSEWHERE:
            raise StoreInUse(f"{path}: the store is in use by {holder}") from error
        raise StorageError(f"{path}: cannot lock: {error.strerror}") from error
    return descriptor


def _is_of(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _holder(descriptor: int) -> str:
    text = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
    return f"process {text}" if text.isdigit() else "another process"
