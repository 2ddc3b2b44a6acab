"""Online backups and their restoration, for ``doorkeeper store backup|restore``."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import apsw

from doorkeeper.base.uuids import random_uuid
from doorkeeper.server.state.storage import digest, schema
from doorkeeper.server.state.storage.database import (
    check_integrity,
    connect,
    connect_readonly,
    sqlite_errors,
)
from doorkeeper.server.state.storage.files import (
    DATABASE_NAME,
    LOCK_NAME,
    companions,
    free_name,
    open_private,
    partial_of,
    prepare_folder,
    remove_database,
    sync_file,
    sync_folder,
)
from doorkeeper.server.state.storage.identity import (
    IDENTITY_NAME,
    ExpectedStore,
    replace_identity_file,
)
from doorkeeper.server.state.storage.lock import DataLock
from doorkeeper.server.state.storage.reading import expected_store_of
from doorkeeper.server.state.store import StorageError

Progress = Callable[[int, int], None]
"""Called with the copied pages and all pages."""

# One megabyte: some milliseconds between two calls of the progress function.
_STEP_PAGES = 256


def backup(
    data_dir: Path, target: Path, *, overwrite: bool = False, progress: Progress | None = None
) -> None:
    """Copy the store to the file ``target``, mode 0600; a server may be using the store.

    The copy contains every change acknowledged before the call. The file appears under its name
    only when it is complete and checked.
    """
    path = data_dir / DATABASE_NAME
    if not path.is_file():
        raise StorageError(f"{data_dir}: found no store ({DATABASE_NAME}) in this folder")
    _check_target(path, target, overwrite=overwrite)
    partial = partial_of(target)
    with closing(connect_readonly(path)) as source:
        with sqlite_errors(path):
            schema.check_readable(source, path)
        copy_database(source, partial, progress)
    try:
        # Checked again: the copy may have taken minutes.
        _check_target(path, target, overwrite=overwrite)
        partial.replace(target)
    except OSError as error:
        raise StorageError(f"{target}: cannot write: {error.strerror}") from error
    finally:
        remove_database(partial)
    sync_folder(target.parent)


def _check_target(path: Path, target: Path, *, overwrite: bool) -> None:
    if target.is_dir():
        raise StorageError(f"{target}: found a folder; expected: a file name")
    if not target.parent.is_dir():
        raise StorageError(f"{target.parent}: no such folder")
    if not target.exists():
        return
    # The rename would replace a device such as /dev/null by a file.
    if not target.is_file():
        raise StorageError(f"{target}: found a device or a pipe; expected: a file name")
    # The WAL has commits that the database lacks; without its lock, a store has two writers.
    names = (path.name, LOCK_NAME, IDENTITY_NAME)
    is_beside = target.parent.samefile(path.parent) and target.name.startswith(names)
    if target.samefile(path) or is_beside:
        raise StorageError(f"{target}: this is the store itself")
    if not overwrite:
        raise StorageError(f"{target}: the file exists; to replace it, add --overwrite")


def restore(
    source: Path,
    data_dir: Path,
    *,
    now_ms: Callable[[], int],
    progress: Progress | None = None,
    identity_file: Path | None = None,
) -> Path | None:
    """Replace the store by a backup; return the path of the previous store, None without one.

    The restored store has an id of its own: a cluster that belongs to the previous one keeps its
    ACLs until this one has adopted it. The identity file then names it; by default that is
    ``doorkeeper.identity`` in the folder.
    """
    path = data_dir / DATABASE_NAME
    if source.exists() and path.exists() and source.samefile(path):
        raise StorageError(f"{source}: this is the store itself")
    with closing(connect_readonly(source)) as connection:
        with sqlite_errors(source):
            expected = expected_store_of(connection, source)
        check_integrity(connection, source)
        prepare_folder(data_dir)
        with DataLock(data_dir):
            store_id = random_uuid(os.urandom)
            aside = _swap(connection, path, store_id, now_ms(), progress)
            replace_identity_file(
                identity_file or data_dir / IDENTITY_NAME, expected._replace(store_id=store_id)
            )
            return aside


def _swap(
    source: apsw.Connection, path: Path, store_id: str, now_ms: int, progress: Progress | None
) -> Path | None:
    """Replace the store by a copy of ``source``; it stays in place until the last rename."""
    partial = partial_of(path)
    copy_database(source, partial, progress)
    try:
        with sqlite_errors(partial), closing(connect(partial)) as copy:
            schema.set_meta(copy, "store_id", store_id)
        aside = _set_aside(path, now_ms) if path.exists() else None
        partial.replace(path)
    except OSError as error:
        raise StorageError(f"{path}: cannot write: {error.strerror}") from error
    finally:
        remove_database(partial)
    sync_folder(path.parent)
    return aside


def _set_aside(path: Path, now_ms: int, label: str = "before-restore") -> Path:
    """Move the store and its WAL aside: SQLite would replay the WAL into the next database."""
    # The WAL of a killed server is checkpointed into the database; a damaged one stays as it is.
    with suppress(StorageError, apsw.Error):
        connect(path).close()
    aside = free_name(path, label, now_ms)
    for beside in companions(path):
        beside.replace(aside.with_name(aside.name + beside.name.removeprefix(path.name)))
    # A link instead of a rename: until its replacement the store keeps its name too.
    try:
        os.link(path, aside)
    except OSError:  # the file system has no hard links
        path.replace(aside)
    return aside


def accept_store(data_dir: Path, identity_file: Path) -> ExpectedStore:
    """Write the identity and the digest of the store as it is; return its identity.

    One that cannot be used leaves both as they were: the next start refuses it as before.
    """
    path = data_dir / DATABASE_NAME
    with DataLock(data_dir), sqlite_errors(path), closing(connect(path)) as connection:
        actual = expected_store_of(connection, path)
        replace_identity_file(identity_file, actual)
        with connection:
            digest.write_anew(connection)
    return actual


def set_store_aside(data_dir: Path, identity_file: Path, *, now_ms: int) -> Path | None:
    """Make room for a new store; return the path of the previous one, None without one."""
    path = data_dir / DATABASE_NAME
    prepare_folder(data_dir)
    with DataLock(data_dir):
        aside = None
        if path.exists():
            aside = _set_aside(path, now_ms, "before-create")
            path.unlink(missing_ok=True)
        else:
            for beside in companions(path):  # of a database that was removed
                beside.replace(free_name(beside, "without-database", now_ms))
        sync_folder(data_dir)
        # Last: without it, the next start would accept a store that could not be moved.
        replace_identity_file(identity_file, None)
        return aside


# --- copies of a database in use, as one file of mode 0600


def copy_database(source: apsw.Connection, target: Path, progress: Progress | None = None) -> None:
    """Copy the committed state of the source; later commits are not in the copy.

    The target must not exist; after an error it does not exist either.
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
    with closing(apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)) as copy:
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


def _finish(target: Path) -> None:
    with closing(apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)) as copy:
        # The copied header says WAL; a backup is one file without companions.
        copy.pragma("journal_mode", "delete")
        check_integrity(copy, target)
