"""The store that nodes share: one PostgreSQL database, followed and written over two connections.

    follower   LISTEN; at each ring, and once a second anyway, reads the log on from where it is
    writer     locks the head, follows up to it, plans all that waits, writes, commits, delivers

The log is the truth and the bell only a bell: whatever is missed is read later. Revisions are
committed in order and without a gap, since each writer holds the head's row until its commit, so
following is counting: the next revision is ours plus one, or the log has been pruned and the whole
state is read again.

When a connection is lost while it commits, nobody knows at first. The next connection takes the
lock, which it gets when the lost transaction has ended one way or the other, and looks for the
batch in the log. Until then nothing is followed and nothing is answered.

A database that comes back may be another one (a standby that had not received everything). The
batch that made our newest revision must stand in its log at that revision; else all is read again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Self

import asyncpg
import structlog

from doorkeeper.metrics.hooks import StoreMeter, StoreSight
from doorkeeper.storage.cluster_id import random_uuid
from doorkeeper.storage.contract import (
    OutcomeUnknown,
    StorageError,
    Store,
    StoreAway,
)
from doorkeeper.storage.postgres.health import FOLLOWER, WRITER, BackOff, Health, reason
from doorkeeper.storage.postgres.losing import LOST, ended
from doorkeeper.storage.postgres.migrating import prepare
from doorkeeper.storage.postgres.position import Position
from doorkeeper.storage.postgres.rows import head, prune, revisions_of, take_pen, write
from doorkeeper.storage.postgres.schema import CHANNEL, identity
from doorkeeper.storage.postgres.state import read_state
from doorkeeper.storage.postgres.waiting import Batch, Queue, Waiting

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from doorkeeper.authn.credentials import ScramCredential
    from doorkeeper.logs.pipeline import Logger
    from doorkeeper.storage.contract import (
        Change,
        ConfigKey,
        CredentialKey,
        Participant,
        StoredBinding,
        StoredState,
        StoredToken,
        StoredTopic,
    )
    from doorkeeper.storage.postgres.schema import Identity

    Connect = Callable[[], Awaitable[asyncpg.Connection]]

LOOK_S: Final = 0.05
"""How often what is beyond its time is looked at, at most."""

POLL_S: Final = 1.0
"""Without a ring the head is read so often: what a lost bell costs at most."""

CLOSING_S: Final = 5.0
"""How long ``aclose`` waits for what was submitted."""

IDLE_WITH_PEN_S: Final = 10
"""A writer that does nothing for so long while it holds the head has frozen, or its machine is
gone: the database ends its transaction, and others write."""

STATEMENT_WITH_PEN_S: Final = 60
"""The same for one that stops in the middle of a statement, or waits for the pen."""

PRUNE_EVERY_S: Final = 3600.0
PRUNE_ROWS: Final = 1_000
MS_PER_DAY: Final = 86_400_000


class PostgresStore(Store):
    """The durable state of several nodes. For the loop's thread, but for ``bindings``."""

    def __init__(
        self,
        connect: Connect,
        *,
        name: str,
        node_id: int,
        state: StoredState,
        identity: Identity,
        timeout_s: float,
        retention_days: int,
        meter: StoreMeter | None,
    ) -> None:
        self._connect = connect
        self._name = name
        self._node_id = node_id
        self._initial: StoredState | None = state
        self._identity = identity
        self._timeout_s = timeout_s
        self._retention_days = retention_days
        self._queue = Queue()
        self._batch: Batch | None = None
        self._in_flight = False
        self._rung = 0
        self._closing = False
        self._tasks: list[asyncio.Task[None]] = []
        self._expiry: asyncio.TimerHandle | None = None
        self._log: Logger = structlog.get_logger("doorkeeper.store")
        self._position = Position(state.revision, state.made_by, name=name, log=self._log)
        self._loop = asyncio.get_running_loop()
        self._turn = asyncio.Lock()
        self._bell = asyncio.Event()
        self._work = asyncio.Event()
        self._idle = asyncio.Event()
        self._meter = StoreMeter() if meter is None else meter
        self.health = Health(self._loop.time, self._log, name)

    @classmethod
    async def open(
        cls,
        connect: Connect,
        *,
        name: str,
        node_id: int,
        random_bytes: Callable[[int], bytes],
        timeout_s: float = 30,
        retention_days: int = -1,
        meter: StoreMeter | None = None,
    ) -> Self:
        """Read everything; make the tables in an empty database.

        ``name`` says where it is, without secrets. ``timeout_s`` is how long a change waits for a
        database that is away. ``retention_days`` is how long rows of the change log stay; -1: for
        ever.

        Raises:
            StorageError: it cannot be reached or used, or its schema does not fit.

        """
        try:
            connection = await connect()
            try:
                await prepare(
                    connection,
                    cluster_id=lambda: random_uuid(random_bytes),
                    salt_key=lambda: random_bytes(32),
                )
                is_of = await identity(connection)
                state = await read_state(connection)
            finally:
                await ended(connection)
        except (*LOST, asyncpg.PostgresError) as error:
            raise StorageError(f"{name}: {reason(error)}") from error
        except StorageError as error:
            raise StorageError(f"{name}: {error}") from error
        return cls(
            connect,
            name=name,
            node_id=node_id,
            state=state,
            identity=is_of,
            timeout_s=timeout_s,
            retention_days=retention_days,
            meter=meter,
        )

    # --- what was read

    @property
    def cluster_id(self) -> str:
        """Return the 22 characters that name the cluster; made once, with the store."""
        return self._identity.cluster_id

    @property
    def salt_key(self) -> bytes:
        """Return 32 secret bytes, made once: under them a name that nobody has gets its salt."""
        return self._identity.salt_key

    @property
    def revision(self) -> int:
        """Return the newest revision that this node has."""
        return self._position.revision

    def sight(self) -> StoreSight:
        """Return how the node sees the store now."""
        health = self.health
        newest = max(health.head_revision, self._position.revision)
        return StoreSight(health.is_reachable, self._position.revision, newest, health.age_s)

    def bindings(self) -> Iterator[StoredBinding]:
        """Return all bindings as they were when the store was opened; once, to free them then."""
        assert self._initial is not None, "they are read once"
        state, self._initial = self._initial, None
        return iter(state.bindings)

    def _opened(self) -> StoredState:
        assert self._initial is not None, "before the bindings are read"
        return self._initial

    def topics(self) -> Iterator[StoredTopic]:
        """Return all topics as they were when the store was opened."""
        return iter(self._opened().topics)

    def configs(self) -> Iterator[tuple[ConfigKey, str]]:
        """Return all dynamic values as they were when the store was opened."""
        return iter(self._opened().configs)

    def credentials(self) -> Iterator[tuple[CredentialKey, ScramCredential]]:
        """Return all SCRAM credentials as they were when the store was opened."""
        return iter(self._opened().credentials)

    def tokens(self) -> Iterator[StoredToken]:
        """Return all delegation tokens as they were when the store was opened."""
        return iter(self._opened().tokens)

    # --- submitting

    def join(self, participant: Participant) -> None:
        """Note who follows the changes of other nodes; before ``start``."""
        assert not self._tasks
        self._position.participants.append(participant)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to follow and to take changes."""
        assert loop is self._loop
        assert not self._tasks
        self._tasks = [
            loop.create_task(self._follow_always()),
            loop.create_task(self._write_always()),
        ]
        if self._retention_days >= 0:
            self._tasks.append(loop.create_task(self._prune_always()))

    def submit(
        self, plan: Callable[[], Change], on_done: Callable[[int | StorageError], None]
    ) -> None:
        """Let a change wait for the pen; never blocks. After ``aclose`` it fails."""
        if self._closing:
            self._loop.call_soon(on_done, StoreAway(f"{self._name}: the store is closed"))
            return
        self._queue.put(Waiting(plan, on_done, self._loop.time() + self._timeout_s))
        self._work.set()
        self._expire_later()

    def _expire_later(self) -> None:
        """Come back when the oldest change has waited long enough: its request ends soon after."""
        if self._expiry is not None:
            return
        deadlines_s = [] if self._batch is None else [self._batch.items[0].deadline_s]
        if self._queue:
            deadlines_s.append(self._queue.first_deadline_s)
        # What is on its way may go on beyond its time: it is looked at again and again then.
        earliest_s = self._loop.time() + LOOK_S
        self._expiry = self._loop.call_at(max(earliest_s, min(deadlines_s)), self._expire)

    def _expire(self) -> None:
        """Withdraw what has waited too long; give up on a batch that is in doubt for too long."""
        self._expiry = None
        now_s = self._loop.time()
        for item in self._queue.withdraw(now_s):
            text = f"{self._name}: away for {self._timeout_s:g} s"
            self._tell(item, StoreAway(text))
        batch = self._batch
        if batch is not None and not self._in_flight and batch.items[0].deadline_s <= now_s:
            # Should it be in the log after all, it will be followed as anybody's.
            self._batch = None
            self._position.rewind()
            for item in batch.items:
                self._tell(item, OutcomeUnknown(f"{self._name}: lost while it committed"))
        if self._queue or self._batch is not None:
            self._expire_later()

    def _tell(self, item: Waiting, outcome: int | StorageError) -> None:
        try:
            item.on_done(outcome)
        except Exception as error:  # noqa: BLE001 - the results behind it are others' answers
            self._loop.call_exception_handler(
                {"message": "a callback of the store failed", "exception": error}
            )

    # --- following

    async def _follow_always(self) -> None:
        back_off = BackOff()
        while True:
            try:
                connection = await self._connect()
                if not self.health.is_reachable:
                    self._meter.reconnected()
                try:
                    await self._listen(connection, back_off)
                finally:
                    await ended(connection)
            except (*LOST, asyncpg.PostgresError, StorageError) as error:
                self.health.lost(FOLLOWER, error)
            except Exception as error:  # noqa: BLE001 - a follower that ends is a node that lies
                self._distrust(FOLLOWER, error)
            await asyncio.sleep(back_off.next_s())

    def _distrust(self, who: str, error: Exception) -> None:
        """Have everything read again: what was being followed may be half in the state."""
        self._log.exception("the store could not be followed", store=self._name)
        self.health.lost(who, error)
        self._position.is_distrusted = True

    async def _listen(self, connection: asyncpg.Connection, back_off: BackOff) -> None:
        await connection.add_listener(CHANNEL, self._ring)
        connection.add_termination_listener(lambda _connection: self._bell.set())
        async with self._turn:
            if self._batch is None:
                await self._position.check_past(connection)
        rang = False
        while not connection.is_closed():
            await self._catch_up(connection, rang=rang)
            back_off.reset()
            rang = await self._rings()
        raise ConnectionError("the connection was closed")

    async def _rings(self) -> bool:
        """Wait for the bell; False when nobody rang and the head should be asked for."""
        try:
            async with asyncio.timeout(POLL_S):
                await self._bell.wait()
        except TimeoutError:
            return False
        self._bell.clear()
        return True

    def _ring(self, _connection: object, _pid: int, _channel: str, revision: object) -> None:
        self._rung = max(self._rung, int(str(revision)))
        self._bell.set()

    async def _catch_up(self, connection: asyncpg.Connection, *, rang: bool) -> None:
        async with self._turn:
            if self._batch is not None:
                # The writer lost it while it committed, and finds out first.
                return
            if rang and self._rung <= self._position.revision and not self._position.is_distrusted:
                # It was our own commit, or one that the writer has followed.
                return
            newest = (
                self._rung if rang and not self._position.is_distrusted else await head(connection)
            )
            self.health.head_revision = newest
            if not await self._position.follow(connection, newest):
                await self._reload(connection)
            self.health.confirmed()
        self.health.answered(FOLLOWER)

    async def _reload(self, connection: asyncpg.Connection) -> None:
        await self._position.reload(connection)
        self._rung = 0

    # --- writing

    async def _write_always(self) -> None:
        back_off = BackOff()
        while True:
            if not self.health.is_lost_by(WRITER):
                # Else it is asked until it answers, so that everybody knows when it does.
                await self._work.wait()
            try:
                connection = await self._connect()
                try:
                    await connection.execute(
                        f"SET idle_in_transaction_session_timeout = '{IDLE_WITH_PEN_S}s';"
                        f" SET statement_timeout = '{STATEMENT_WITH_PEN_S}s'"
                    )
                    await self._meet(connection)
                    while not connection.is_closed():
                        await self._write(connection)
                        self.health.answered(WRITER)
                        back_off.reset()
                        await self._work.wait()
                finally:
                    await ended(connection)
            except (*LOST, asyncpg.PostgresError, StorageError) as error:
                self.health.lost(WRITER, error)
            except Exception as error:  # noqa: BLE001 - a follower that ends is a node that lies
                self._distrust(WRITER, error)
            await asyncio.sleep(back_off.next_s())

    async def _meet(self, connection: asyncpg.Connection) -> None:
        """Find out what became of a batch in doubt, and whether this is the database we know.

        The follower looks too, but may come later, and nothing may be planned on a past that this
        database never had.
        """
        if self._batch is not None:
            await self._settle(connection)
        async with self._turn:
            await self._position.check_past(connection)

    async def _write(self, connection: asyncpg.Connection) -> None:
        """Write all that waits."""
        while self._queue:
            await self._flush(connection)
        self._work.clear()
        if self._queue or self._batch is not None:
            self._work.set()
        self._idle.set()

    async def _flush(self, connection: asyncpg.Connection) -> None:
        """Write one batch."""
        transaction = connection.transaction()
        try:
            await transaction.start()
            newest = await take_pen(connection)
        except Exception:
            self._meter.failed()
            raise
        async with self._turn:
            if not await self._position.follow(connection, newest):
                await transaction.rollback()
                await self._reload(connection)
                return
            batch = self._plan()
            if batch is None:
                await transaction.rollback()
                return
            if batch.last_revision == self._position.revision:
                await transaction.rollback()
            elif not await self._committed(connection, transaction, batch):
                return
            self._deliver(batch)
            self.health.head_revision = max(self.health.head_revision, self._position.revision)
            self.health.confirmed()

    def _plan(self) -> Batch | None:
        if not self._queue:
            return None
        self._batch = self._queue.plan(self._position.revision)
        return self._batch

    async def _committed(
        self,
        connection: asyncpg.Connection,
        transaction: asyncpg.transaction.Transaction,
        batch: Batch,
    ) -> bool:
        """Write and commit; False where the batch cannot be written as it is.

        Raises:
            Exception: one of ``LOST``; the batch waits again, or is in doubt.

        """
        committing = False
        begin_s = self._loop.time()
        self._in_flight = True
        try:
            await write(connection, batch.changes(), node_id=self._node_id, batch=batch.batch_id)
            committing = True
            await transaction.commit()
        except BaseException as error:
            self._meter.failed()
            if not committing:
                self._undo(batch)
            if committing or isinstance(error, LOST) or not isinstance(error, Exception):
                # A connection of which nobody knows what it did is of no more use.
                connection.terminate()
                raise
            await transaction.rollback()
            self._blame(batch, error)
            return False
        finally:
            self._in_flight = False
        self._meter.stored(len(list(batch.changes())), self._loop.time() - begin_s)
        return True

    def _undo(self, batch: Batch) -> None:
        """Let a batch wait again: it is certain that it is not durable."""
        self._batch = None
        self._position.rewind()
        for item in batch.items:
            item.change = None
        self._queue.put_back(batch.items)

    def _blame(self, batch: Batch, error: Exception) -> None:
        """Fail the change that cannot be written; where there are several, find out which."""
        if len(batch.items) > 1:
            for item in batch.items:
                item.singly = True
            return
        culprit = self._queue.withdraw_first()
        self._log.error("a change cannot be stored", store=self._name, cause=reason(error))
        self._tell(culprit, StorageError(f"{self._name}: {reason(error)}"))

    async def _settle(self, connection: asyncpg.Connection) -> None:
        """Find out whether a batch became durable whose commit nobody answered."""
        async with connection.transaction(), self._turn:
            # Whoever commits holds the head: now that we have it, that is over.
            await take_pen(connection)
            batch = self._batch
            if batch is None:
                return
            found = await revisions_of(connection, batch.batch_id, self._position.revision)
            if self._batch is not batch:
                return
            if found and found[-1] == batch.last_revision:
                self._deliver(batch)
            else:
                self._undo(batch)

    def _deliver(self, batch: Batch) -> None:
        self._batch = None
        if batch.last_revision > self._position.revision:
            self._position.now_at(batch.last_revision, batch.batch_id)
        for item in batch.items:
            self._tell(item, item.error or item.revision)

    # --- upkeep, the end

    async def _prune_always(self) -> None:
        """Delete old rows of the log once an hour; that several nodes do so harms nobody."""
        while True:
            await asyncio.sleep(PRUNE_EVERY_S)
            try:
                connection = await self._connect()
                try:
                    older_than_ms = self._retention_days * MS_PER_DAY
                    more = True
                    while more:
                        more = await prune(
                            connection, older_than_ms=older_than_ms, rows_max=PRUNE_ROWS
                        )
                finally:
                    await ended(connection)
            except (*LOST, asyncpg.PostgresError) as error:
                self._log.warning("the log was not pruned", cause=reason(error))

    async def aclose(self) -> None:
        """Write what was submitted, as far as the store answers; then let go of it."""
        if self._closing:
            return
        self._closing = True
        if self._tasks and not self.health.is_lost_by(WRITER):
            try:
                async with asyncio.timeout(CLOSING_S):
                    while self._queue or self._batch is not None:
                        self._idle.clear()
                        await self._idle.wait()
            except TimeoutError:
                self._log.error("changes were not stored", changes=len(self._queue))
        self.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def close(self) -> None:
        """Let go of the store at once: what waits fails."""
        self._closing = True
        if self._expiry is not None:
            self._expiry.cancel()
        for task in self._tasks:
            task.cancel()
        for item in self._queue.withdraw_all():
            self._tell(item, StoreAway(f"{self._name}: the store is closed"))
        batch, self._batch = self._batch, None
        for item in () if batch is None else batch.items:
            self._tell(item, OutcomeUnknown(f"{self._name}: closed while it committed"))
