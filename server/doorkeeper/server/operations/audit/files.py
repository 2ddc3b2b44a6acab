"""Files of the audit log: open, close, recover, delete.

A file is closed by a sync, a rename, and a sync of the folder. A compressed file is written under a
temporary name and renamed before its plain copy is deleted, so a reader never finds two closed
files with the same events.

A killed server leaves a file ``.open``. The next start truncates it after its last line feed,
closes it, and records that as an event.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path
from typing import Final

from doorkeeper.server.operations.audit.events import Recovered
from doorkeeper.server.operations.audit.names import (
    TEMPORARY,
    AuditFile,
    files_in,
    open_name,
    whole_name,
)
from doorkeeper.server.state.storage.files import (
    make_folder,
    open_private,
    sync_file,
    sync_folder,
)

# A tenth of the size or less, at about 250 MB a second.
COMPRESSION_LEVEL: Final = 3

NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})

SECONDS_A_DAY: Final = 86_400


class AuditLogError(Exception):
    """The folder of the audit log cannot be used; the text names it and the reason."""


class AuditLogInUse(AuditLogError):
    """Another process writes the audit log of the same node, most likely its server."""


class AuditFolder:
    """The folder of one node's files. For one thread at a time."""

    def __init__(self, path: Path, node: int, *, compress: bool) -> None:
        """Lock the folder; create it if missing.

        Raises:
            AuditLogError: it cannot be used, or another server of this node uses it.
        """
        self.path = path
        self.node = node
        self._compress = compress
        self._lock = -1
        self._lock_path = path / f"audit-{node}.lock"
        self._created = False
        try:
            self._created = make_folder(path)
            if self._created:
                sync_folder(path.parent)
            self._lock = open_private(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            text = f"{path}: another server writes the audit log of node {node} here"
            raise AuditLogInUse(text) from error
        except Exception as error:
            self.release()
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise AuditLogError(f"{path}: the audit log cannot be written: {reason}") from error

    def release(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def discard(self) -> None:
        """Release the lock; remove all files if this process has created the folder."""
        if self._created:
            for path in (*self._all(), self._lock_path):
                path.unlink(missing_ok=True)
        self.release()

    # --- at the start

    def recover(self) -> list[Recovered]:
        """Close the open file of a killed server; delete temporary files."""
        for path in self.path.glob(f"audit-{self.node}-*{TEMPORARY}"):
            path.unlink()
        files = self.files()
        whole = {file.first for file in files if file.last is not None}
        recovered = []
        for file in files:
            if file.last is None:
                if file.first in whole:
                    # The server was killed between the rename of the compressed file and
                    # this deletion.
                    file.path.unlink()
                elif (closed := self._recover_file(file)) is not None:
                    recovered.append(closed)
        return recovered

    def _recover_file(self, file: AuditFile) -> Recovered | None:
        size = file.path.stat().st_size
        lines, whole_bytes, last_line = _whole_lines(file.path)
        if not lines:
            file.path.unlink()
            return Recovered(file=file.path.name, lines=0, torn_bytes=size) if size else None
        os.truncate(file.path, whole_bytes)
        closed = self.close(file.path, file.first, _seq_of(last_line, file.first + lines - 1))
        return Recovered(file=closed.name, lines=lines, torn_bytes=size - whole_bytes)

    def last_seq(self) -> int:
        """Return the number of the last event in a closed file; 0 without one."""
        return max((file.last or 0 for file in self.files()), default=0)

    def files(self) -> list[AuditFile]:
        """Return this node's files in order."""
        return [file for file in files_in(self.path) if file.node == self.node]

    # --- while events are written

    def open(self, first: int) -> tuple[Path, int]:
        """Create a file whose first event has the number ``first``; return path and descriptor."""
        path = self.path / open_name(self.node, first)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        sync_folder(self.path)
        return path, descriptor

    def close(self, path: Path, first: int, last: int) -> Path:
        """Close a file under its final name; return that."""
        sync_file(path)
        if self._compress:
            target = self.path / whole_name(self.node, first, last, compressed=True)
            try:
                _compress(path, target)
            except OSError:
                # A full disk has no space for a second copy: the plain file is final then.
                target.with_name(target.name + TEMPORARY).unlink(missing_ok=True)
            else:
                sync_folder(self.path)
                path.unlink()
                return target
        target = self.path / whole_name(self.node, first, last, compressed=False)
        path.rename(target)
        sync_folder(self.path)
        return target

    def delete_old(self, now_s: float, days_max: int, bytes_max: int) -> None:
        """Delete files beyond the bounds. The newest file is kept.

        A bound of -1 means none. Age is that of a file's last change.
        """
        # Never the newest file: it has the last number, from which the next start continues.
        files = [file.path for file in self.files() if file.last is not None][:-1]
        facts = [(path, path.stat()) for path in files if path.exists()]
        total = sum(path.stat().st_size for path in self._all() if path.exists())
        for path, fact in facts:
            old = days_max >= 0 and fact.st_mtime < now_s - days_max * SECONDS_A_DAY
            if not old and not 0 <= bytes_max < total:
                # Oldest first: the rest of the log has no gap.
                break
            # It may be gone: whoever keeps copies may delete files too.
            path.unlink(missing_ok=True)
            total -= fact.st_size

    def _all(self) -> list[Path]:
        return [file.path for file in self.files()]

    # --- room for what may not be lost

    @property
    def _reserve(self) -> Path:
        return self.path / f"audit-{self.node}.reserve"

    def reserve(self, size: int) -> None:
        """Allocate disk space that ``free_reserve`` releases."""
        descriptor = os.open(self._reserve, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, size)
        except OSError:
            self._reserve.unlink()
            raise
        finally:
            os.close(descriptor)

    def free_reserve(self) -> bool:
        """Release the allocated space; return whether there was any."""
        if not self._reserve.exists():
            return False
        self._reserve.unlink()
        return True


def _compress(source: Path, target: Path) -> None:
    import zstandard

    temporary = target.with_name(target.name + TEMPORARY)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as out, source.open("rb") as plain:  # noqa: PTH123 - a descriptor
        compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL, write_checksum=True)
        compressor.copy_stream(plain, out, size=source.stat().st_size)
        out.flush()
        os.fsync(out.fileno())
    temporary.rename(target)


def _whole_lines(path: Path) -> tuple[int, int, bytes]:
    """Return the number of complete lines, their bytes, and the last one."""
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
