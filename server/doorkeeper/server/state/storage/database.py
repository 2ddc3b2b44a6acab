"""Connections to the database file, and their settings.

- WAL: readers (an online backup) and the writer do not block each other.
- ``synchronous=FULL``: each commit syncs the WAL. NORMAL loses acknowledged commits in a power cut.
- No automatic checkpoint: it would run inside a commit, before the acknowledgement. See
  ``upkeep``.
- No temporary files: only the data folder must be writable.
- No memory map: a read error would end the process by a signal instead of raising an exception.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import apsw

from doorkeeper.server.state.storage.files import LINKED, companions, create_private, narrow
from doorkeeper.server.state.storage.schema import check_ours
from doorkeeper.server.state.store import StorageError

_BUSY_MS = 5_000
"""How long a change waits for another program that has locked the database."""

# A WAL that grew beyond this size during a long backup is truncated when it restarts.
_WAL_FILE_BYTES_MAX = 64 * 1024 * 1024

# Holds the inner pages of the tables at a million ACLs; leaves are in the system's page cache.
_CACHE_KIB = 16 * 1024

_SETTINGS = f"""
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA journal_size_limit = {_WAL_FILE_BYTES_MAX};
    PRAGMA cache_size = -{_CACHE_KIB};
    PRAGMA cell_size_check = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA trusted_schema = OFF;
    PRAGMA secure_delete = ON;
"""


def connect(path: Path) -> apsw.Connection:
    """Open a database for writing, created if missing; it and its companions get mode 0600."""
    # SQLite keeps the WAL beside the target, where another folder's lock counts.
    if path.is_symlink():
        raise StorageError(f"{path}: cannot open: {LINKED}")
    create_private(path)
    for companion in companions(path):
        narrow(companion)
    return _open(path, apsw.SQLITE_OPEN_READWRITE)


def connect_readonly(path: Path) -> apsw.Connection:
    """Open an existing database for reading; a server may be writing to it."""
    if not path.is_file():
        raise StorageError(f"{path}: no such file")
    return _open(path, apsw.SQLITE_OPEN_READONLY)


def _open(path: Path, flags: int) -> apsw.Connection:
    with sqlite_errors(path), ExitStack() as undo:
        connection = apsw.Connection(str(path), flags=flags)
        undo.callback(connection.close)
        connection.set_busy_timeout(_BUSY_MS)
        check_ours(connection, path)  # before a setting writes into a foreign file
        if flags == apsw.SQLITE_OPEN_READWRITE:
            for _ in connection.execute(_SETTINGS):
                pass  # apsw runs the next PRAGMA only after the row of the one before was read
            mode = connection.pragma("journal_mode", "wal")
            if mode != "wal":
                fault = f"the file system does not support WAL (journal mode {mode})"
                raise StorageError(f"{path}: {fault}")
        undo.pop_all()
    return connection


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Raise errors of SQLite as ``StorageError``, with the name of the file."""
    try:
        yield
    except apsw.Error as error:
        raise StorageError(f"{path}: {reason(error)}") from error


def reason(error: Exception) -> str:
    """Return SQLite's message, without the exception class that apsw may prepend.

    For an I/O error return its code: its message, and that of a backup to a full disk, may be "not
    an error".
    """
    if isinstance(error, apsw.IOError):
        code = getattr(error, "extendedresult", apsw.SQLITE_IOERR)
        return f"disk I/O error ({apsw.mapping_extended_result_codes.get(code, code)})"
    text = " ".join(str(error).split()).removeprefix(f"{type(error).__name__}: ")
    if isinstance(error, apsw.FullError):
        return "database or disk is full"
    return text or type(error).__name__


def check_integrity(connection: apsw.Connection, path: Path) -> None:
    """Read the whole database and check its structure."""
    with sqlite_errors(path):
        result = connection.pragma("integrity_check", 1)
    if result != "ok":
        raise StorageError(f"{path}: the database is damaged: {result}")
