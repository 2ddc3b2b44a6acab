"""The shared store: one PostgreSQL database, over two connections of each node.

 follower   LISTEN; follows the log after each notification, and every second
 writer     the lease: locks the head, reads the revisions of other nodes, writes, commits

Nothing depends on a notification, which any role of the database can send: a lost one only delays
the read, and a wrong one only causes it. Revisions are committed in order and without gaps, since
each writer locks the row of the head until its commit.

Each new connection is checked before use: the database must have the cluster id and store id that
the node knows, and every revision that the node has seen. A node never adopts the state of another
database: it keeps its last state.

A connection belongs to one task at a time, and an operation on it ends before the next begins. A
cancelled or failed operation cannot guarantee that, so it terminates the connection.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

import asyncpg

from doorkeeper.server.runtime.clock import utc_ms
from doorkeeper.server.runtime.lean_structlog import structlog
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.metrics.meters import StoreMeter
from doorkeeper.server.schema.change import NO_CHANGE, Change
from doorkeeper.server.schema.kind import Kind
from doorkeeper.server.state.postgres import digest, rows
from doorkeeper.server.state.postgres.connecting import (
    FAILED,
    LOST,
    Check,
    close_connection,
    opened,
)
from doorkeeper.server.state.postgres.health import FOLLOWER, WRITER, BackOff, Health, reason
from doorkeeper.server.state.postgres.named_leases import NamedLeases
from doorkeeper.server.state.postgres.schema import (
    CHANNEL,
    check_identity,
    has_store,
    identity,
    prepare,
)
from doorkeeper.server.state.postgres.timelines import Timelines
from doorkeeper.server.state.storage.identity import (
    ExpectedStore,
    IdentityFile,
    check_expected_store,
    read_expected_store,
)
from doorkeeper.server.state.store import (
    Lease,
    LogEntry,
    Logged,
    LogReader,
    OutcomeUnknown,
    StateDiffers,
    StorageError,
    Store,
    StoredState,
    StoreReplaced,
    StoreUnavailable,
)

Connect = Callable[[Check], Awaitable[asyncpg.Connection]]
"""Connects to the first host whose database passes the check."""
CatchUp = Callable[[LogReader], Awaitable[None]]

T = TypeVar("T")

REVISION_DIGITS: Final = 20
"""More than any number of revisions has."""

POLL_S: Final = 1.0
"""Interval of reads of the head without a notification: the most that a lost one delays."""

STATEMENT_IN_LEASE_S: Final = 60
"""Time-out of a writer's statement, including the wait for the lease, in seconds."""

PRUNE_EVERY_S: Final = 3600.0
PRUNE_ROWS: Final = 1_000
MS_PER_DAY: Final = 86_400_000

_ENDED: Final = (
    ConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.exceptions.OperatorInterventionError,
)
"""The connection has ended by itself."""

_DROPPED: Final = (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError)

_WHAT_TO_DO: Final = (
    "point doorkeeper.store to that database again, or restore it. To use this one as it is, stop"
    " the node and run doorkeeper store accept"
)


class PostgresStore(Store):
    """A durable store of several nodes."""

    is_shared = True

    def __init__(
        self,
        connect: Connect,
        *,
        name: str,
        node_id: int,
        timeout_s: float = 30,
        lease_timeout_s: float = 3,
        retention_days: int = -1,
        identity_file: Path | None = None,
        meter: StoreMeter | None = None,
    ) -> None:
        """Take what the configuration says; ``open`` connects.

        ``name`` identifies the store without secrets. ``timeout_s`` is how long a change waits for
        an unavailable database; after ``lease_timeout_s`` the database revokes an idle lease.
        ``retention_days`` is how long rows of the log are kept; -1: for ever. An ``identity_file``
        of an earlier start must match.
        """
        self._connect = connect
        self._name = name
        self._node_id = node_id
        self.timeout_s = timeout_s
        self.lease_timeout_s = lease_timeout_s
        self._retention_days = retention_days
        self._identity_path = identity_file
        self._identity_file: IdentityFile | None = None
        self._seen = 0
        self._log: Logger = structlog.get_logger("doorkeeper.store")
        self._meter = StoreMeter() if meter is None else meter
        self._health = Health(asyncio.get_running_loop().time, self._log, name)
        self._timelines = Timelines(self._log, name)
        self._bell = asyncio.Event()
        self._rung: float = 0
        self._writer: asyncpg.Connection | None = None
        self._writer_is_checked = False
        self._writing = asyncio.Lock()
        self._writer_lost = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._leases = NamedLeases(lambda: connect(self._check), lease_timeout_s)

    async def open(
        self,
        random_bytes: Callable[[int], bytes],
        *,
        create: bool = True,
        initial: Change = NO_CHANGE,
    ) -> None:
        """Read everything; ``create`` allows to create tables, with the rows of ``initial``.

        Raises:
            StorageError: it cannot be reached or used, or its schema does not fit.
            StoreReplaced: it is not the one of the identity file.
        """
        path, name = self._identity_path, self._name
        expected = None if path is None else read_expected_store(path)

        async def check(connection: asyncpg.Connection) -> None:
            if path is None or expected is None:
                return
            actual = None
            if await has_store(connection):
                ids = (await identity(connection))[:2]
                actual = ExpectedStore(*ids, await rows.head(connection))
            check_expected_store(path, name, expected, actual)

        try:
            async with opened(self._connect(check)) as connection:
                self.is_new = await prepare(connection, random_bytes, initial, create=create)
                """Whether the tables were created now."""
                self.identity = await identity(connection)
                async with connection.transaction(isolation="repeatable_read", readonly=True):
                    state = await rows.read_items(connection)
        except FAILED as error:
            raise StorageError(f"{name}: {reason(error)}") from error
        except StorageError as error:
            if type(error) is StoreReplaced:  # its text has the name
                raise
            raise type(error)(f"{name}: {error}") from error
        self.revision, self.batch, self._seen = state.revision, state.batch, state.revision
        self._unread = dict(state.rows)
        if path is not None:
            now = ExpectedStore(*self.identity[:2], state.revision)
            check_expected_store(path, name, expected, now)
            self._identity_file = IdentityFile(path, now)

    # --- the rows at the start

    @property
    def unavailable(self) -> str | None:
        return self._health.problem

    @property
    def is_lost(self) -> bool:
        """Return whether it is not the database that the node knows."""
        return self._health.is_replaced

    def rows(self, kind: Kind) -> Iterator[Any]:
        """Return the rows of a kind at the opening, once for each kind, and free them."""
        return iter(self._unread.pop(kind.name))

    # --- the connections

    async def _check(self, connection: asyncpg.Connection) -> None:
        """Reject a database that is not the one that the node knows."""
        await check_identity(connection, self.identity)
        await self.see(rows.head(connection))
        await self._timelines.check(connection)

    async def see(self, reading: Awaitable[int]) -> int:
        """Return the newest revision; reject a database that lacks one that the node has seen."""
        seen = self._seen  # other connections may advance it during the query
        revision = await reading
        if revision < seen:
            raise StoreReplaced(
                f"found a database at revision {revision}; expected: revision {seen} or later,"
                " which this node has seen"
            )
        self.note(revision)
        return revision

    def note(self, revision: int) -> None:
        """Record a durable revision before any client learns of it."""
        if revision > self._seen:
            self._seen = revision
            if self._identity_file is not None:
                self._identity_file.acknowledge(revision)

    def failure(self, error: BaseException) -> StorageError:
        """Return the error of the state log for a failed operation."""
        if isinstance(error, _DROPPED):
            return StoreReplaced(f"the tables do not exist ({reason(error)})")
        if isinstance(error, StorageError):
            return error
        return StoreUnavailable(f"{self._name}: {reason(error)}")

    # --- following

    async def follow(self, catch_up: CatchUp) -> None:
        back_off = BackOff()
        while True:
            try:
                connection = await self._connect(self._check)
                if FOLLOWER in self._health.lost_by:
                    self._meter.reconnects.add()
                try:
                    # The database may have been restored while the connection was lost.
                    await digest.check(connection)
                    await self._listen(connection, catch_up, back_off)
                finally:
                    connection.terminate()
            except (*FAILED, StorageError) as error:
                self._lose(FOLLOWER, error)
            except Exception as error:  # following must not end
                self._log.exception("the store could not be followed", store=self._name)
                self._health.record_failure(FOLLOWER, error)
            await asyncio.sleep(back_off.next_s())

    def _lose(self, connection_name: str, error: BaseException) -> None:
        """Record a failed connection; for a replaced store add the expected one and the remedy."""
        failure = self.failure(error)
        if isinstance(failure, StoreReplaced) and not isinstance(failure, StateDiffers):
            expected = ExpectedStore(self.identity.cluster_id, self.identity.store_id, self._seen)
            error = StoreReplaced(
                f"{failure}, but the node expects {expected} or later: {_WHAT_TO_DO}"
            )
        elif isinstance(error, StoreUnavailable | OutcomeUnknown) and error.__cause__ is not None:
            error = error.__cause__
        if isinstance(error, asyncpg.InternalClientError):
            # asyncpg's error if the connection ends within the database's last message.
            error = ConnectionError("the database ended the connection")
        self._health.record_failure(connection_name, error)

    async def _listen(
        self, connection: asyncpg.Connection, catch_up: CatchUp, back_off: BackOff
    ) -> None:
        await connection.add_listener(CHANNEL, self._ring)
        connection.add_termination_listener(lambda _connection: self._bell.set())
        reader = SharedReader(self, connection)
        while not connection.is_closed():
            self._bell.clear()
            self._rung = 0
            await catch_up(reader)
            self._health.record_success(FOLLOWER)
            back_off.reset()
            await self._wait_for_news(connection)
        raise ConnectionError("the connection was closed")

    def _ring(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        text = str(payload)
        is_revision = text.isdecimal() and len(text) < REVISION_DIGITS
        self._rung = max(self._rung, int(text) if is_revision else math.inf)
        self._bell.set()

    async def _wait_for_news(self, connection: asyncpg.Connection) -> None:
        """Wait for a notification of a revision that the node has not seen, at most ``POLL_S``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_S):
                # Each commit of this node notifies it too, and costs no query.
                while self._rung <= self._seen and not connection.is_closed():
                    await self._bell.wait()
                    self._bell.clear()

    # --- writing

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start to prune, and to retry after a failed lease."""
        self._tasks.append(loop.create_task(self._reach_always()))
        if self._retention_days >= 0:
            self._tasks.append(loop.create_task(self._prune_always()))

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[Lease]:
        """Lock the head; the lock ends without effect unless the lease commits."""
        async with self._writing:
            try:
                lease = await self._take_lease()
                yield lease
                await lease.end()
            except BaseException as error:
                self._drop_writer()
                if isinstance(error, StorageError):
                    self._writer_lost.set()
                    self._lose(WRITER, error)
                raise
            self._writer_is_checked = lease.is_checked
            self._health.record_success(WRITER)
            self._writer_lost.clear()

    async def _take_lease(self) -> SharedLease:
        try:
            if self._writer is not None:
                try:
                    return await self._begin(self._writer)
                except _ENDED:
                    self._drop_writer()  # the database closed an idle connection: no outage
            self._writer = await self._connect(self._check)
            self._writer_is_checked = False
            await digest.check(self._writer)
            idle_ms = max(1, round(self.lease_timeout_s * 1000))
            await self._writer.execute(
                f"SET idle_in_transaction_session_timeout = {idle_ms};"
                f" SET statement_timeout = '{STATEMENT_IN_LEASE_S}s'"
            )
            return await self._begin(self._writer)
        except (*FAILED, StorageError) as error:
            raise self.failure(error) from error

    async def _begin(self, connection: asyncpg.Connection) -> SharedLease:
        try:
            transaction = connection.transaction()
            await transaction.start()
            revision = await self.see(rows.take_lease(connection))
        except (*FAILED, StorageError) as error:
            if not isinstance(error, _ENDED):
                self._meter.failed.add()
            raise
        lease = SharedLease(self, connection, transaction, revision)
        lease.is_checked = self._writer_is_checked
        return lease

    async def claim(self, name: str) -> bool:
        return await self._leases.keep(name)

    async def release(self, name: str) -> None:
        await self._leases.release(name)

    def _drop_writer(self) -> None:
        connection, self._writer = self._writer, None
        if connection is not None:
            connection.terminate()

    async def write(
        self, lease: SharedLease, entries: Sequence[LogEntry], batch: UUID | None
    ) -> None:
        assert batch is not None, "the store is shared"
        clock = asyncio.get_running_loop().time
        begin_s = clock()
        connection = lease.connection
        try:
            await rows.write(connection, entries, node_id=self._node_id, batch=batch)
        except (*FAILED, ValueError) as error:
            self._meter.failed.add()
            # Some of asyncpg's errors about values are both.
            if isinstance(error, LOST) and not isinstance(error, ValueError):
                raise self.failure(error) from error
            raise StorageError(f"{self._name}: {reason(error)}") from error
        try:
            await lease.transaction.commit()
        except FAILED as error:
            self._meter.failed.add()
            raise OutcomeUnknown(f"{self._name}: connection lost during the commit") from error
        lease.is_committed = True
        self.note(entries[-1].revision)
        try:
            self._meter.stored.add()
            self._meter.changes.add(len(entries))
            self._meter.seconds.observe(clock() - begin_s)
        except Exception:  # the change is durable: it must not look like a failure
            self._log.exception("a commit was not counted", store=self._name)

    async def _reach_always(self) -> None:
        """Retry the lease after a failure, so that the node notices when writes work again."""
        back_off = BackOff()
        while True:
            await self._writer_lost.wait()
            await asyncio.sleep(back_off.next_s())
            try:
                async with self.lease():
                    back_off.reset()
            except StorageError:
                pass  # recorded by the lease
            except Exception as error:  # without retries the node would never be ready
                self._log.exception("the store could not be asked", store=self._name)
                self._health.record_failure(WRITER, error)

    # --- upkeep, the end

    async def _prune_always(self) -> None:
        """Delete old rows of the log once an hour; several nodes may do so at the same time."""
        while True:
            await asyncio.sleep(PRUNE_EVERY_S)
            try:
                connection = await self._connect(self._check)
                try:
                    older_than_ms = self._retention_days * MS_PER_DAY
                    more = True
                    while more:
                        more = await rows.prune(
                            connection,
                            older_than_ms=older_than_ms,
                            rows_max=PRUNE_ROWS,
                            now_ms=utc_ms(),
                        )
                finally:
                    connection.terminate()
            except (*FAILED, StorageError) as error:
                self._log.warning("the log was not pruned", cause=reason(error))
            except Exception:  # pruning must not end: the log would grow for ever
                self._log.exception("the log was not pruned", store=self._name)

    async def aclose(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        connection, self._writer = self._writer, None
        if connection is not None:
            await close_connection(connection)
        if self._identity_file is not None:
            self._identity_file.close()

    async def discard(self) -> None:
        """Close the store; remove a new identity file. Tables stay: other nodes may use them."""
        await self.aclose()
        if self._identity_file is not None and self._identity_file.is_new:
            self._identity_file.path.unlink(missing_ok=True)


class SharedReader(LogReader):
    """A connection of the store, used by one task."""

    is_checked = False

    def __init__(self, store: PostgresStore, connection: asyncpg.Connection) -> None:
        self._store = store
        self.connection = connection

    async def _read(self, reading: Awaitable[T]) -> T:
        try:
            return await reading
        except FAILED as error:
            raise self._store.failure(error) from error

    async def head(self) -> int:
        return await self._read(self._store.see(rows.head(self.connection)))

    async def batch_of(self, revision: int) -> tuple[UUID | None] | None:
        return await self._read(rows.batch_of(self.connection, revision))

    async def changes(self, after: int, rows_max: int) -> list[Logged]:
        return await self._read(rows.read_log(self.connection, after, rows_max))

    async def load(self) -> StoredState:
        transaction = self.connection.transaction(isolation="repeatable_read", readonly=True)
        await self._read(transaction.start())
        loaded = await self._read(rows.read_items(self.connection))
        await self._read(transaction.commit())
        return loaded


class SharedLease(SharedReader, Lease):
    """A transaction that has locked the head."""

    def __init__(
        self,
        store: PostgresStore,
        connection: asyncpg.Connection,
        transaction: asyncpg.transaction.Transaction,
        revision: int,
    ) -> None:
        """``revision`` is that of the head."""
        super().__init__(store, connection)
        self.transaction = transaction
        self._revision = revision
        self._kept_s = asyncio.get_running_loop().time()
        self.is_committed = False

    async def head(self) -> int:
        """Return the newest revision, which cannot change before the end."""
        return self._revision

    async def load(self) -> StoredState:
        return await self._read(rows.read_items(self.connection))

    async def keep(self) -> None:
        """End the idle time, which the database limits, three times before its limit."""
        now_s = asyncio.get_running_loop().time()
        if now_s - self._kept_s < self._store.lease_timeout_s / 3:
            return
        with suppress(*FAILED):
            await self.connection.execute("SELECT")
        self._kept_s = now_s

    async def commit(self, encoded: Sequence[LogEntry], batch: UUID | None) -> None:
        await self._store.write(self, encoded, batch)

    async def end(self) -> None:
        if not self.is_committed:
            await self._read(self.transaction.rollback())
