"""The identity file: the store of a node, and the newest revision that the node acknowledged.

It lies outside the database, so that a node notices a store that was lost, emptied, replaced or
rolled back, instead of starting as an empty cluster.

The file has three lines ``name=value`` and a fixed length, so the revision is rewritten in place,
without a sync: it survives the end of the process. After a power cut it may be lower than the
store's revision, which is allowed.

``DatabaseFiles`` detects whether the open files are still those on disk: SQLite goes on committing
to a database that was removed or replaced, and such commits are lost with the process.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from doorkeeper.server.state.storage.files import open_private, sync_folder
from doorkeeper.server.state.store import StorageError, StoreReplaced

if TYPE_CHECKING:
    from pathlib import Path

IDENTITY_NAME: Final = "doorkeeper.identity"

WHAT_TO_DO: Final = (
    "put the store back, restore a backup (doorkeeper store restore FILE), use the store as it is"
    " (doorkeeper store accept), or begin an empty cluster (doorkeeper store create --new)"
)

_BYTES_MAX: Final = 1024
_REVISION_BYTES: Final = 20


class ExpectedStore(NamedTuple):
    """The identity of a store, and the least revision that it must have."""

    cluster_id: str
    store_id: str
    revision: int

    def __str__(self) -> str:
        return f"store {self.store_id} of cluster {self.cluster_id} at revision {self.revision}"


class IdentityFile:
    """The open identity file of a store. ``acknowledge`` is for one thread."""

    def __init__(self, path: Path, descriptor: int, expected: ExpectedStore) -> None:
        self.path = path
        self._descriptor = descriptor
        self._expected = expected
        self._revision_at = len(_text(expected)) - _REVISION_BYTES - 1
        self.revision = expected.revision
        """The newest acknowledged revision."""

    @property
    def expected_store(self) -> ExpectedStore:
        return self._expected._replace(revision=self.revision)

    @classmethod
    def write(cls, path: Path, expected: ExpectedStore) -> Self:
        """Write the file durably, and keep it open.

        Raises:
            StorageError: it cannot be written.

        """
        descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
        try:
            # In this order a full disk or a power cut leaves either the old text or this one.
            os.pwrite(descriptor, _text(expected), 0)
            os.ftruncate(descriptor, len(_text(expected)))
            os.fsync(descriptor)
        except OSError as error:
            os.close(descriptor)
            raise StorageError(f"{path}: cannot write: {error.strerror}") from error
        sync_folder(path.parent)
        return cls(path, descriptor, expected)

    def acknowledge(self, revision: int) -> None:
        """Record a durable revision before its change is acknowledged.

        A failure is ignored: the change is durable; only the detection of a later loss is weaker.
        """
        self.revision = revision
        with suppress(OSError):
            # A single write of 20 digits within one page: a killed process leaves the old or the
            # new number.
            os.pwrite(self._descriptor, b"%020d" % revision, self._revision_at)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class DatabaseFiles:
    """The open database file and its WAL, as last written by this process.

    ``look`` may be called in any thread during a write.
    """

    def __init__(self, database: Path) -> None:
        """Both files exist.

        Raises:
            OSError: one of them does not.

        """
        # Strings, because ``Path`` doubles the time of ``stat``.
        self._database, self._wal = str(database), f"{database}-wal"
        # SQLite has no POSIX locks on the WAL that closing this descriptor could drop.
        self._wal_fd = os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC)
        self._wal_link = f"/proc/self/fd/{self._wal_fd}"
        self._wal_name = ""
        opened = os.stat(self._database), os.fstat(self._wal_fd)  # noqa: PTH116
        self._ids = [(each.st_dev, each.st_ino) for each in opened]
        with suppress(OSError):
            self._wal_name = os.readlink(self._wal_link)  # noqa: PTH115
        self.writes = 0
        """Incremented before and after each write of this process, so it is odd during one."""
        self.written_ns = time.time_ns()
        """Wall-clock time of the end of the last write."""
        self._noted: tuple[int, int, int, int] | None = None
        self._wal_ns: int | None = None
        self.is_touched = False
        """Whether another program wrote or truncated the files; the verification resets it."""
        self.look(times=True)

    def close(self) -> None:
        if self._wal_fd >= 0:
            os.close(self._wal_fd)
            self._wal_fd = -1

    def look(self, *, times: bool = False) -> str | None:
        """Return how the files on disk differ from the open ones; None if they are the same.

        Unless this process has written since the last call, sizes and times of modification must be
        unchanged. ``times`` also reads the time of the WAL, as do later calls until the next write.
        """
        writes, noted = self.writes, self._noted
        is_noted = noted is not None and noted[0] == writes
        wal_bytes, wal_ns = 0, None
        try:
            database = os.stat(self._database)  # noqa: PTH116
            ids = [(database.st_dev, database.st_ino)]
            # Between commits the time of the WAL is not read: since Linux 6.13 that gives the next
            # write a timestamp of its own, and its fdatasync takes a third longer. The link in
            # /proc shows a removed file instead; systems without /proc use stat.
            if times or not self._wal_name or (is_noted and self._wal_ns is not None):
                wal = os.stat(self._wal)  # noqa: PTH116
                ids.append((wal.st_dev, wal.st_ino))
                wal_bytes, wal_ns = wal.st_size, wal.st_mtime_ns
            elif os.readlink(self._wal_link) == self._wal_name:  # noqa: PTH115
                ids.append(self._ids[1])
                wal_bytes = os.lseek(self._wal_fd, 0, os.SEEK_END)
            else:
                os.stat(self._wal)  # noqa: PTH116 - raises if there is none
        except OSError as error:
            return f"{error.filename}: {error.strerror}"
        if ids != self._ids:
            return f"{self._database} or its WAL: this is not the file that was opened"
        # A write is in progress or happened during the reads: sizes and times say nothing.
        if writes & 1 or writes != self.writes:
            return None
        found = writes, database.st_size, database.st_mtime_ns, wal_bytes
        if is_noted and found != noted:
            self.is_touched = True
        if wal_ns is not None:
            is_known = is_noted and self._wal_ns is not None
            if wal_ns != self._wal_ns if is_known else wal_ns > self.written_ns:
                self.is_touched = True
        self._noted, self._wal_ns = found, wal_ns
        return None


def read_expected_store(path: Path) -> ExpectedStore | None:
    """Return the content of an identity file; None without one.

    Raises:
        StorageError: it cannot be read, or is not an identity file.

    """
    try:
        with path.open("rb") as file:
            text = file.read(_BYTES_MAX).decode("ascii")
        found = dict(line.split("=", 1) for line in text.splitlines())
        return ExpectedStore(found["cluster_id"], found["store_id"], int(found["revision"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(f"{path}: cannot read: {error.strerror}") from error
    except (KeyError, ValueError) as error:
        raise StorageError(
            f"{path}: this is not the identity file of a store; doorkeeper store accept writes it"
            " anew, for the store as it is"
        ) from error


def replace_identity_file(path: Path, expected: ExpectedStore | None) -> None:
    """Write an identity file durably. None removes it, and the next start writes a new one.

    Raises:
        StorageError: it cannot be written.

    """
    if expected is not None:
        IdentityFile.write(path, expected).close()
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{path}: cannot remove: {error.strerror}") from error


def check_expected_store(
    path: Path, place: str, expected: ExpectedStore, found: ExpectedStore | None
) -> None:
    """Reject a store that is not the one in the identity file ``path``; None: there is no store.

    Raises:
        StoreReplaced: it is missing, another store, or behind the acknowledged revision.

    """
    if found is not None and found[:2] == expected[:2] and found.revision >= expected.revision:
        return
    what = "no store is here" if found is None else f"this is {found}"
    raise StoreReplaced(f"{place}: {what}, but {path} expects {expected} or later: {WHAT_TO_DO}")


def _text(expected: ExpectedStore) -> bytes:
    return (
        f"cluster_id={expected.cluster_id}\nstore_id={expected.store_id}\nrevision={expected.revision:020}\n"
    ).encode("ascii")
