"""The identity file: the store of a node, and the newest revision that the node acknowledged.

It lies outside the database, so that a node notices a store that was lost, emptied, replaced or
rolled back, instead of starting as an empty cluster.

The file has three lines ``name=value`` and a fixed length, so the revision is rewritten in place,
without a sync: it survives the end of the process. After a power cut it may be lower than the
store's revision, which is allowed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from doorkeeper.server.state.storage.files import open_private, sync_folder
from doorkeeper.server.state.store import StorageError, StoreReplaced

IDENTITY_NAME: Final = "doorkeeper.identity"

WHAT_TO_DO: Final = (
    "put the store back, restore a backup (doorkeeper store restore FILE), accept the store as it"
    " is (doorkeeper store accept), or create an empty cluster (doorkeeper store create"
    " --overwrite)"
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

    def __init__(self, path: Path, expected: ExpectedStore) -> None:
        """Write the file durably, and keep it open."""
        self.path = path
        self.is_new = not path.exists()
        """Whether it was created now."""
        self._expected = expected
        self.revision = expected.revision
        """The newest acknowledged revision."""
        text = _text(expected)
        self._revision_at = len(text) - _REVISION_BYTES - 1
        self._descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
        try:
            # In this order a full disk or a power cut leaves either the old text or this one.
            os.pwrite(self._descriptor, text, 0)
            os.ftruncate(self._descriptor, len(text))
            os.fsync(self._descriptor)
        except OSError as error:
            os.close(self._descriptor)
            if self.is_new:  # half of a file is not valid at the next start
                path.unlink()
            raise StorageError(f"{path}: cannot write: {error.strerror}") from error
        sync_folder(path.parent)

    @property
    def expected_store(self) -> ExpectedStore:
        return self._expected._replace(revision=self.revision)

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


def read_expected_store(path: Path) -> ExpectedStore | None:
    """Return the content of an identity file; None without one."""
    try:
        with path.open("rb") as file:
            text = file.read(_BYTES_MAX).decode("ascii")
        values = dict(line.split("=", 1) for line in text.splitlines())
        return ExpectedStore(values["cluster_id"], values["store_id"], int(values["revision"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(f"{path}: cannot read: {error.strerror}") from error
    except (KeyError, ValueError) as error:
        raise StorageError(
            f"{path}: not a valid identity file; to recreate it for the present store, run"
            " doorkeeper store accept"
        ) from error


def replace_identity_file(path: Path, expected: ExpectedStore | None) -> None:
    """Write an identity file durably. None removes it, and the next start writes a new one."""
    if expected is not None:
        IdentityFile(path, expected).close()
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{path}: cannot remove: {error.strerror}") from error


def check_expected_store(
    path: Path, name: str, expected: ExpectedStore | None, actual: ExpectedStore | None
) -> None:
    """Reject a store that is not the one in the identity file ``path``; None: there is no store.

    Without such a file (``expected`` is None) every store is accepted.

    Raises:
        StoreReplaced: it is missing, another store, or behind the acknowledged revision.
    """
    if expected is None:
        return
    if actual is not None and actual[:2] == expected[:2] and actual.revision >= expected.revision:
        return
    what = "no store is here" if actual is None else f"this is {actual}"
    raise StoreReplaced(f"{name}: {what}, but {path} expects {expected} or later: {WHAT_TO_DO}")


def _text(expected: ExpectedStore) -> bytes:
    return (
        f"cluster_id={expected.cluster_id}\nstore_id={expected.store_id}\nrevision={expected.revision:020}\n"
    ).encode("ascii")
