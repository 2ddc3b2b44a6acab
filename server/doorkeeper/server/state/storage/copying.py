"""A checked copy of a database in use, as one file of mode 0600."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import apsw

from doorkeeper.server.state.storage.database import check_integrity, sqlite_errors
from doorkeeper.server.state.storage.files import open_private, remove_database, sync_file
from doorkeeper.server.state.store import StorageError

if TYPE_CHECKING:
    from pathlib import Path

Progress = Callable[[int, int], None]
"""Called with the copied pages and all pages."""

# One megabyte: some milliseconds between two calls of the progress function.
_STEP_PAGES = 256


def copy_database(source: apsw.Connection, target: Path, progress: Progress | None = None) -> None:
    """Copy the committed state of the source; later commits are not in the copy.

    The target must not exist; after an error it does not exist either.

    Raises:
        StorageError: reading or writing failed, or the copy is damaged.

    """
    os.close(open_private(target, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    try:
        with sqlite_errors(target):
            _copy_pages(source, target, progress)
            _finish(target)
        sync_file(target)
    except OSError as error:
        remove_database(target)
        raise StorageError(f"{target}: cannot write: {error.strerror}") from error
    except BaseException:
        remove_database(target)
        raise


def _copy_pages(source: apsw.Connection, target: Path, progress: Progress | None) -> None:
    copy = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        # Neither journal nor syncs: an incomplete copy is deleted, and the end syncs the file once.
        copy.pragma("journal_mode", "off")
        copy.pragma("synchronous", "off")
        # The transaction fixes the state that is read. Without it each commit of the server
        # restarts the backup, which would never end under steady writes.
        source.execute("BEGIN; SELECT count(*) FROM sqlite_schema")
        try:
            with copy.backup("main", source, "main") as backup:
                while not backup.done:
                    backup.step(_STEP_PAGES)
                    if progress is not None:
                        progress(backup.page_count - backup.remaining, backup.page_count)
        finally:
            source.execute("COMMIT")
    finally:
        copy.close()


def _finish(target: Path) -> None:
    copy = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        # The copied header says WAL; a backup is one file without companions.
        copy.pragma("journal_mode", "delete")
        check_integrity(copy, target)
    finally:
        copy.close()
