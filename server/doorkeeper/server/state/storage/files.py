"""The data folder and its files: names, permissions, and durable renames.

data/                    0700 if Doorkeeper creates it; an existing folder keeps its mode
  doorkeeper.db          the database, 0600; SQLite gives its -wal and -shm the same mode
  doorkeeper.identity    identity of the store and its acknowledged revision: see ``identity``
  doorkeeper.lock        locked by the process that uses the store; contains its process id
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from doorkeeper.server.state.store import StorageError

DATABASE_NAME = "doorkeeper.db"
LOCK_NAME = "doorkeeper.lock"

COMPANIONS = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite creates beside a database."""

LINKED = "this is a symbolic link, and must be a file"

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600


def prepare_folder(folder: Path) -> None:
    """Create the folder and its parents if missing."""
    try:
        is_new = make_folder(folder)
    except (FileExistsError, NotADirectoryError) as error:
        raise StorageError(f"{folder}: not a folder") from error
    except OSError as error:
        raise StorageError(f"{folder}: cannot create the data folder: {error.strerror}") from error
    if is_new:
        sync_folder(folder.parent)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StorageError(f"{folder}: the data folder is not writable")


def make_folder(folder: Path) -> bool:
    """Create a private folder and its parents; return False if it exists.

    Raises:
        OSError: it cannot be created.
    """
    if folder.is_dir():
        return False
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=_FOLDER_MODE)
    return True


def missing_folders(folders: Iterable[Path]) -> list[Path]:
    """Return those that do not exist, and their missing parents, the innermost first."""
    chains = (chain for folder in folders for chain in (folder, *folder.parents))
    missing = {path for path in chains if not path.exists()}
    return sorted(missing, key=lambda path: len(path.parts), reverse=True)


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove the folders that exist and are empty, in this order."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def open_private(path: Path, flags: int) -> int:
    """Open a file that only its owner may read; a wider mode is narrowed."""
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC, _FILE_MODE)
    except OSError as error:
        is_link = error.errno == errno.ELOOP and path.is_symlink()
        why = LINKED if is_link else error.strerror
        raise StorageError(f"{path}: cannot open: {why}") from error
    narrow(path)
    return descriptor


def create_private(path: Path) -> None:
    """Create an empty file of mode 0600 unless it exists."""
    if not path.is_file():
        os.close(open_private(path, os.O_RDWR | os.O_CREAT))
    # Not opened: closing any descriptor of a file drops all POSIX locks that the process has on it,
    # also those of SQLite's other connections.
    elif os.access(path, os.R_OK | os.W_OK):
        narrow(path)
    else:
        raise StorageError(f"{path}: cannot open: no permission to read and write it")


def narrow(path: Path) -> None:
    """Remove the permissions of group and others.

    Best effort: a file of another owner, or on a file system without modes, stays as it is.
    """
    with suppress(OSError):
        if path.stat().st_mode & 0o077:
            path.chmod(_FILE_MODE)


def companions(database: Path) -> list[Path]:
    """Return the existing files that SQLite created beside a database."""
    candidates = (database.with_name(database.name + suffix) for suffix in COMPANIONS)
    return [path for path in candidates if path.exists()]


def remove_database(database: Path) -> None:
    for path in (*companions(database), database):
        path.unlink(missing_ok=True)


def sync_file(path: Path) -> None:
    """Write the content of a file durably."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Write the names in a folder durably: a rename survives a power cut only after that.

    Best effort: some network file systems refuse to sync a folder.
    """
    with suppress(OSError):
        sync_file(folder)


def free_name(path: Path, label: str, now_ms: int) -> Path:
    """Return an unused path beside ``path``: ``doorkeeper.db.<label>-20261121T194500Z``."""
    time = datetime.fromtimestamp(now_ms / 1000, tz=UTC).strftime("%Y%m%dT%H%M%SZ")
    return unused_path(path.with_name(f"{path.name}.{label}-{time}"))


def partial_of(path: Path) -> Path:
    """Return a path beside ``path`` for a file that is renamed to it when it is complete.

    Not by the process id, which in a container is mostly that of the process that was killed.
    """
    return path.with_name(f".{path.name}.partial-{os.urandom(8).hex()}")


def unused_path(path: Path) -> Path:
    """Return the path, or the first unused one of ``<path>-2``, ``<path>-3``..."""
    unused, number = path, 2
    while unused.exists():
        unused = path.with_name(f"{path.name}-{number}")
        number += 1
    return unused
