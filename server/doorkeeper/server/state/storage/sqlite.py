"""The embedded store: one SQLite file in the data folder, and the thread that writes it.

A commit starts in the thread when that is free: upkeep takes it for some milliseconds. Its result
is delivered on the event loop. Before it is acknowledged, the revision is written to the identity
file, and the open files are compared with those on disk. If they differ, the store takes no more
changes: see ``unavailable``.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, closing, nullcontext, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final
from uuid import UUID

import apsw

from doorkeeper.base.garbage_collection import collection_paused
from doorkeeper.base.slices import Slices
from doorkeeper.server.runtime.clock import utc_ms
from doorkeeper.server.runtime.lean_structlog import structlog
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.metrics.meters import StoreMeter
from doorkeeper.server.schema.change import NO_CHANGE, Change
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.schema.kind import Kind
from doorkeeper.server.state.storage import digest, schema
from doorkeeper.server.state.storage.database import check_integrity, connect, reason, sqlite_errors
from doorkeeper.server.state.storage.files import (
    DATABASE_NAME,
    companions,
    prepare_folder,
    remove_database,
    sync_folder,
)
from doorkeeper.server.state.storage.identity import (
    IDENTITY_NAME,
    WHAT_TO_DO,
    ExpectedStore,
    IdentityFile,
    check_expected_store,
    read_expected_store,
)
from doorkeeper.server.state.storage.lock import DataLock
from doorkeeper.server.state.storage.reading import expected_store_of, identity_of, read_rows
from doorkeeper.server.state.storage.rows import LogWrite, Statement, fill_digests, log_statements
from doorkeeper.server.state.storage.upkeep import CHECKPOINT_PAGES, Upkeep
from doorkeeper.server.state.store import (
    Lease,
    LogEntry,
    OutcomeUnknown,
    StorageError,
    Store,
    StoreReplaced,
    new_identity,
)

Job = tuple[LogWrite, asyncio.Future[None]]

IDLE_S: Final = 1.0
"""Interval between checks of the files, and for pruning, while nothing is written."""

QUIET_S: Final = 0.1
"""Time after the last commit at which the times of the files are read."""

_UNSYNCED: Final = (apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC)
"""Errors after which a change is in the WAL, although SQLite has rolled it back: the next start may
find it. What the disk has of the pages before is not known either."""


class SqliteStore(Store, Lease):
    """A store in a file that only this process writes, which always has the lease.

    An acknowledged change survives kill -9, and a power cut if the disk honours syncs.
    """

    _thread: Thread | None = None
    _closed = False
    _problem: str | None = None
    """Why the store was lost; from then on nothing is written."""

    def __init__(
        self,
        data_dir: Path,
        *,
        now_ms: Callable[[], int] | None = None,
        random_bytes: Callable[[int], bytes],
        retention_days: int = -1,
        meter: StoreMeter | None = None,
        identity_file: Path | None = None,
        create: bool = True,
        initial: Change = NO_CHANGE,
    ) -> None:
        """Open the store in a folder; create it if missing.

        A new store gets ``initial``, rows of revision 0. The change log is kept for
        ``retention_days``; -1: for ever. The writer's thread calls ``now_ms`` and ``meter`` too.
        ``identity_file`` None: in the folder.

        Raises:
            StoreReplaced: the identity file expects another store, or a newer revision.
            StorageError: the folder or file cannot be used, another process uses it, it is not a
                Doorkeeper store, or is from another version.
        """
        self._path = path = data_dir / DATABASE_NAME
        self._now_ms = now_ms = now_ms or utc_ms
        self._meter = meter or StoreMeter()
        # Bounded by the state log. A put takes 16 ns, and 1.1 us with the lock and condition of
        # ``runtime.bounded_queue``; the way to the thread and back a quarter longer (medians).
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._log: Logger = structlog.get_logger("doorkeeper.store")
        self._lease: AbstractAsyncContextManager[Lease] = nullcontext(self)
        self._identity_path = identity_path = identity_file or data_dir / IDENTITY_NAME
        expected = read_expected_store(identity_path)
        _check_there(path, identity_path, expected, create=create)
        prepare_folder(data_dir)
        with ExitStack() as undo, sqlite_errors(path):
            self._lock = DataLock(data_dir)
            undo.callback(self._lock.release)
            self._is_created = expected is None and not path.exists()
            if self._is_created:
                undo.callback(self._remove_files)
            self._connection = connection = connect(path)
            undo.callback(connection.close)
            self.is_new = schema.is_new(connection)
            """Whether the tables were made now: of a missing file, or of an empty one."""
            if self.is_new:
                check_expected_store(identity_path, str(path), expected, None)
                schema.create(connection, new_identity(random_bytes), now_ms(), initial)
                # A new file's name is durable only when its folder is.
                sync_folder(data_dir)
            actual = expected_store_of(connection, path)
            check_expected_store(identity_path, str(path), expected, actual)
            self._identity_file = IdentityFile(identity_path, actual)
            undo.callback(self._identity_file.close)
            self.identity = identity_of(connection)
            self.revision = actual.revision
            self._upkeep = Upkeep(connection, now_ms=now_ms, retention_days=retention_days)
            self._files = DatabaseFiles(path)
            self._stored_hash = self._chain_end = schema.last_hash(connection)
            # 0 where the rows differ from the log: loading says so, before a change is written.
            self._digest = int(schema.last_digest(connection) or "0", 16)
            undo.pop_all()

    @property
    def unavailable(self) -> str | None:
        """Return why no change can be stored any more, with the remedy; None while it can."""
        return self._problem

    def rows(self, kind: Kind) -> Iterator[Any]:
        """Read the rows of a kind, in no order; in any thread, before the first lease."""
        with sqlite_errors(self._path):
            if kind is not ACL:
                yield from read_rows(self._connection, kind)
                return
            # ACLs have their own connection: apsw refuses to share the writer's between threads.
            # The garbage collector would traverse each new object several times, free nothing, and
            # double the time of the start.
            with collection_paused(), closing(connect(self._path)) as reader, reader:
                digest.check(reader, self._path)
                yield from read_rows(reader, kind)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # A daemon thread: a process that ends without close() must not wait for it.
        self._thread = Thread(target=self._run, name="doorkeeper-store", daemon=True)
        self._thread.start()

    def lease(self) -> AbstractAsyncContextManager[Lease]:
        """Grant the lease at once: this process always has it."""
        if self._closed:
            raise StorageError(f"{self._path}: the store is closed")
        if self._problem is not None:
            raise StoreReplaced(self._problem)
        return self._lease

    def close(self, *, discards: bool = False) -> None:
        """Write the queued commits, then release the database. Blocks; idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
        self._look()
        if self._problem is not None:
            # Another database has this name now: its WAL must stay as it is.
            self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._files.close()
        self._connection.close()  # the last connection checkpoints the WAL
        self._identity_file.close()
        if discards and self._is_created:
            self._remove_files()
        self._lock.release()

    def _remove_files(self) -> None:
        """Remove the files that this process has created, under the lock."""
        remove_database(self._path)
        self._identity_path.unlink(missing_ok=True)
        self._lock.remove()

    async def aclose(self) -> None:
        """Close the store; this blocks the loop during the last commit."""
        self.close()

    async def discard(self) -> None:
        """Close the store; remove its files if this process has created it."""
        self.close(discards=True)

    # --- changes

    def encode(self, entries: Sequence[LogEntry]) -> Slices[LogWrite]:
        # A fault in the encoding of one change must fail this change, and not the log.
        try:
            return (yield from log_statements(entries, self._now_ms(), self._chain_end))
        except Exception as error:
            self._meter.failed.add()
            raise StorageError(f"{self._path}: {reason(error)}") from error

    def commit(self, encoded: LogWrite, batch: UUID | None) -> asyncio.Future[None]:
        """Write revisions in one transaction in the thread."""
        done: asyncio.Future[None] = self._loop.create_future()
        # Not in the thread: each system call releases Python's global lock, and the thread would
        # wait up to 5 ms for it while the loop is busy.
        self._look()
        # Before it is stored: a commit whose waiter gave up may still be in the queue.
        self._chain_end = encoded.hash
        self._queue.put((encoded, done))
        return done

    def _deliver(self, done: asyncio.Future[None], error: StorageError | None) -> None:
        # Checked before the acknowledgement: a commit to a removed file succeeds and is lost.
        if error is None:
            self._look()
            if self._problem is not None:
                # Whoever brings the files back brings the change back.
                error = OutcomeUnknown(self._problem)
        else:
            self._chain_end = self._stored_hash
        if done.done():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def _look(self, *, times: bool = False) -> None:
        difference = self._files.look(times=times)
        if difference is not None:
            self._lose(difference)

    def _lose(self, problem: str) -> None:
        if self._problem is None:
            self._problem = (
                f"{problem}: the store was removed, replaced or damaged while the server was"
                " running; no changes are possible until a restart. Stop the server and"
                f" {WHAT_TO_DO}"
            )
            self._log.error("the store was replaced", problem=self._problem)

    def _run(self) -> None:
        wait_s: float = 0
        while True:
            try:
                job = self._queue.get(timeout=wait_s) if wait_s else self._queue.get_nowait()
            except Empty:
                self._look(times=True)
                if self._files.is_touched and self._problem is None:
                    self._verify()
                if wait_s == QUIET_S:
                    wait_s = IDLE_S
                    continue
            else:
                if job is None:
                    return
                write, done = job
                error = self._commit(write)
                try:
                    self._loop.call_soon_threadsafe(self._deliver, done, error)
                except RuntimeError:
                    # The loop was closed; the change is stored nevertheless.
                    self._log.debug("a result could not be delivered", error=str(error))
                with suppress(apsw.Error):
                    # Below the threshold of a checkpoint, only the files are checked soon.
                    pages = self._connection.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)[0]
                    if abs(pages - self._upkeep.pages) < CHECKPOINT_PAGES:
                        wait_s = QUIET_S
                        continue
            wait_s = 0 if self._keep_up() and self._queue.empty() else IDLE_S

    def _keep_up(self) -> bool:
        """Do one step of maintenance; return whether more may be due at once."""
        if self._problem:
            return False
        try:
            work = self._upkeep.due(is_idle=self._queue.empty())
            if work is None:
                return False
            self._files.writes += 1
            try:
                more = work()
            finally:
                self._files.written_ns = time.time_ns()
                self._files.writes += 1
        except Exception:  # without this thread no commit would ever complete
            self._log.exception("store maintenance failed", file=str(self._path))
            return False
        self._look()
        return more

    def _commit(self, write: LogWrite) -> StorageError | None:
        """Store revisions; return the error if they could not be stored."""
        try:
            if self._files.is_touched and self._problem is None:
                self._verify()
            if self._problem is not None:
                raise StoreReplaced(self._problem)
            if self._connection.in_transaction:
                self._leave_transaction()
            # Stored behind a revision that failed, the hash would make a history that looks forged.
            if write.previous != self._stored_hash:
                problem = "the revisions are not chained to the last one of the log"
                raise StorageError(problem)
            began_s = time.perf_counter()
            digest_after = fill_digests(self._connection, write, self._digest)
            self._files.writes += 1
            try:
                execute(self._connection, write.statements)
            finally:
                self._files.written_ns = time.time_ns()
                self._files.writes += 1
            took_s = time.perf_counter() - began_s
            self._stored_hash, self._digest = write.hash, digest_after
        except Exception as error:  # the thread must survive any change
            with suppress(apsw.Error):  # the next commit tries again
                self._leave_transaction()
            self._meter.failed.add()
            if getattr(error, "extendedresult", 0) in _UNSYNCED:
                self._lose(f"{self._path}: {reason(error)}")
                return OutcomeUnknown(self._problem)
            if not isinstance(error, StorageError):
                error = StorageError(f"{self._path}: {reason(error)}")
            return error
        # The change is durable: nothing from here on may look like its failure.
        try:
            self._identity_file.acknowledge(write.last)
            self._meter.stored.add()
            self._meter.changes.add(write.revisions)
            self._meter.seconds.observe(took_s)
        except Exception:  # as above
            self._log.exception("a commit was not counted", file=str(self._path))
        return None

    def _leave_transaction(self) -> None:
        """Roll back the transaction of a failed statement: a later COMMIT would commit it too."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _verify(self) -> None:
        """Check files that another program wrote, and continue with a new connection to them."""
        self._files.is_touched = False
        fresh: apsw.Connection | None = None
        try:
            fresh = connect(self._path)
            check_integrity(fresh, self._path)
            digest.check(fresh, self._path)
            store_id = str(schema.meta(fresh, "store_id"))
            actual = ExpectedStore(self.identity.cluster_id, store_id, schema.last_revision(fresh))
            check_expected_store(
                self._identity_file.path,
                str(self._path),
                self._identity_file.expected_store,
                actual,
            )
            if actual.revision != self._identity_file.revision:
                # A lock file that was removed, or a file system without locks between machines.
                raise StoreReplaced(
                    f"{self._path}: another process wrote revision {actual.revision}, but this one"
                    f" has written {self._identity_file.revision}"
                )
        except (StorageError, apsw.Error) as error:
            self._lose(reason(error))
            if fresh is not None:
                fresh.close()
            return
        # The old connection may have cached pages that the other program changed.
        self._connection, before = fresh, self._connection
        self._upkeep.connection = fresh
        before.close()


def execute(connection: apsw.Connection, statements: list[Statement]) -> None:
    """Execute one or more statements in one transaction, durable on return."""
    # A single statement is a transaction of its own, and fewer calls are fewer waits: each may take
    # up to 5 ms for Python's global lock.
    if len(statements) == 1:
        connection.execute(*statements[0])
        return
    connection.execute("BEGIN IMMEDIATE")
    for statement in statements:
        connection.execute(*statement)
    connection.execute("COMMIT")


class DatabaseFiles:
    """The open database file and its WAL, as last written by this process.

    SQLite goes on committing to a database that was removed or replaced, and such commits are lost
    with the process.

    ``look`` may be called in any thread during a write.
    """

    def __init__(self, database: Path) -> None:
        """Both files exist."""
        # Strings, because ``Path`` doubles the time of ``stat``.
        self._database, self._wal = str(database), f"{database}-wal"
        # SQLite has no POSIX locks on the WAL that closing this descriptor could drop.
        self._wal_fd = os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC)
        self._wal_link = f"/proc/self/fd/{self._wal_fd}"
        self._wal_name = ""
        opened = os.stat(self._database), os.fstat(self._wal_fd)  # noqa: PTH116
        self._ids = [(status.st_dev, status.st_ino) for status in opened]
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
        sizes = writes, database.st_size, database.st_mtime_ns, wal_bytes
        if is_noted and sizes != noted:
            self.is_touched = True
        if wal_ns is not None:
            is_known = is_noted and self._wal_ns is not None
            if wal_ns != self._wal_ns if is_known else wal_ns > self.written_ns:
                self.is_touched = True
        self._noted, self._wal_ns = sizes, wal_ns
        return None


def _check_there(
    path: Path, identity_path: Path, expected: ExpectedStore | None, *, create: bool
) -> None:
    """Reject the creation of a store where one existed before."""
    try:
        if path.stat().st_size:
            return
        what = "is empty"
    except OSError:
        what = "is missing"
    check_expected_store(identity_path, str(path), expected, None)
    for companion in companions(path):
        if companion.stat().st_size and companion.name.endswith("-wal"):
            raise StoreReplaced(
                f"{path}: the database {what}, but {companion.name} exists: put the database back,"
                " or restore a backup (doorkeeper store restore FILE)"
            )
    if not create:
        raise StorageError(f"{path}: found no store; create it with doorkeeper store create")
