"""What is done to the files of a trail: opened, closed for good, recovered, deleted when old.

A file is closed by sync, rename, sync of the folder. One that is compressed is written under a
temporary name, renamed, and only then loses its plain copy: at no moment does a reader find one
file under two names of whole files.

The server that is killed leaves a file ``.open``. The next one cuts it after its last line feed,
closes it, and says so in the trail.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.audit.names import (
    TEMPORARY,
    TrailFile,
    files_in,
    open_name,
    whole_name,
)
from doorkeeper.storage.files import open_private, sync_file, sync_folder

if TYPE_CHECKING:
    from pathlib import Path

COMPRESSION_LEVEL: Final = 3
"""Of zstandard: a tenth of the size and less, at some 250 MB a second."""

NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})

SECONDS_A_DAY: Final = 86_400


class TrailError(Exception):
    """The folder of the trail cannot be used; the text says why and names it."""


class TrailInUse(TrailError):
    """Another process writes the trail of the same node there, most likely its server."""


class Recovered(NamedTuple):
    """A file that a killed server left, after it was closed."""

    name: str
    lines: int
    torn_bytes: int


class TrailFolder:
    """The folder of one node's files. For one thread at a time."""

    def __init__(self, path: Path, node: int, *, compress: bool) -> None:
        """Take the folder, which is made when it is missing.

        Raises:
            TrailError: it cannot be used, or another server of this node does.

        """
        self.path = path
        self.node = node
        self._compress = compress
        self._lock = -1
        try:
            if not path.is_dir():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.mkdir(mode=0o700)
                sync_folder(path.parent)
            self._lock = open_private(path / f"audit-{node}.lock", os.O_RDWR | os.O_CREAT)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            text = f"{path}: another server writes the audit trail of node {node} here"
            raise TrailInUse(text) from error
        except Exception as error:
            self.release()
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise TrailError(f"{path}: the audit trail cannot be written: {reason}") from error

    def release(self) -> None:
        """Let another server write here."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    # --- at the start

    def recover(self) -> list[Recovered]:
        """Close what a killed server left open; delete what it left half made.

        Raises:
            OSError: a file cannot be read or closed.

        """
        for path in self.path.glob(f"audit-{self.node}-*{TEMPORARY}"):
            path.unlink()
        found = self.files()
        whole = {file.first for file in found if file.last is not None}
        recovered = []
        for file in found:
            if file.last is None:
                if file.first in whole:
                    # It had its new name already.
                    file.path.unlink()
                elif (closed := self._recovered(file)) is not None:
                    recovered.append(closed)
        return recovered

    def _recovered(self, file: TrailFile) -> Recovered | None:
        size = file.path.stat().st_size
        lines, whole_bytes, last_line = _whole_lines(file.path)
        if not lines:
            file.path.unlink()
            return Recovered(file.path.name, 0, size) if size else None
        os.truncate(file.path, whole_bytes)
        closed = self.close(file.path, file.first, _seq_of(last_line, file.first + lines - 1))
        return Recovered(closed.name, lines, size - whole_bytes)

    def last_seq(self) -> int:
        """Return the number of the last event that is in a whole file; 0 where there is none."""
        return max((file.last or 0 for file in self.files()), default=0)

    def files(self) -> list[TrailFile]:
        """Return this node's files in order."""
        return [file for file in files_in(self.path) if file.node == self.node]

    # --- while events are written

    def open(self, first: int) -> tuple[Path, int]:
        """Make a file for the events from this one on; return its path and descriptor.

        Raises:
            OSError: it cannot be made.

        """
        path = self.path / open_name(self.node, first)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        sync_folder(self.path)
        return path, descriptor

    def close(self, path: Path, first: int, last: int) -> Path:
        """Give a file its name for life; return that.

        Raises:
            OSError: it cannot be synced or renamed.

        """
        sync_file(path)
        if self._compress:
            target = self.path / whole_name(self.node, first, last, compressed=True)
            try:
                _compress(path, target)
            except OSError:
                # A full disk takes no second copy. Its name for life is the plain one then.
                target.with_name(target.name + TEMPORARY).unlink(missing_ok=True)
            else:
                sync_folder(self.path)
                path.unlink()
                return target
        target = self.path / whole_name(self.node, first, last, compressed=False)
        path.rename(target)
        sync_folder(self.path)
        return target

    def delete_old(self, now_s: float, days_max: int, bytes_max: int) -> int:
        """Delete files that are too old or too many; return how many. The newest one stays.

        A bound of -1 is none. Age is that of a file's last change.
        """
        files = [file.path for file in self.files() if file.last is not None][:-1]
        facts = [(path, path.stat()) for path in files]
        total = sum(path.stat().st_size for path in self._all())
        deleted = 0
        for path, fact in facts:
            old = days_max >= 0 and fact.st_mtime < now_s - days_max * SECONDS_A_DAY
            if not old and not 0 <= bytes_max < total:
                break
            path.unlink()
            total -= fact.st_size
            deleted += 1
        return deleted

    def _all(self) -> list[Path]:
        return [file.path for file in self.files()]

    # --- room for what may not be lost

    @property
    def _reserve(self) -> Path:
        return self.path / f"audit-{self.node}.reserve"

    def reserve(self, size: int) -> None:
        """Take room that ``free_reserve`` gives back.

        Raises:
            OSError: there is no such room.

        """
        descriptor = os.open(self._reserve, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, size)
        except OSError:
            self._reserve.unlink()
            raise
        finally:
            os.close(descriptor)

    def free_reserve(self) -> bool:
        """Give the room back; say whether there was any."""
        if not self._reserve.exists():
            return False
        self._reserve.unlink()
        return True


def _compress(source: Path, target: Path) -> None:
    import zstandard  # noqa: PLC0415 - only a server with a trail has it

    temporary = target.with_name(target.name + TEMPORARY)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as out, source.open("rb") as plain:  # noqa: PTH123 - a descriptor
        compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL, write_checksum=True)
        compressor.copy_stream(plain, out, size=source.stat().st_size)
        out.flush()
        os.fsync(out.fileno())
    temporary.rename(target)


def _whole_lines(path: Path) -> tuple[int, int, bytes]:
    """Return how many lines have an end, how many bytes they are, and the last one of them."""
    lines = whole_bytes = 0
    last = b""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                lines += 1
                whole_bytes += len(line)
                last = line
    return lines, whole_bytes, last


def _seq_of(line: bytes, otherwise: int) -> int:
    try:
        return int(json.loads(line)["seq"])
    except (ValueError, KeyError, TypeError):
        return otherwise
