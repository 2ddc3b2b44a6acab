"""The state log of a node: plan changes, commit them, publish the resulting state.

submit(plan) -> wait for the lease -> plan on the newest state -> commit -> publish -> complete

All changes that wait when the lease is granted are planned, each on the state after the one before
it, and committed in one transaction. Further changes queue while it is written. A state is
published only when it is durable, so a visible change is never rolled back.

With a shared store the log also follows other nodes: when the store signals new revisions, and
before planning. One lock separates following from planning.

When the store rejects a commit, its changes are planned and committed again one by one, to find the
faulty one. When the connection is lost during a commit, the batch is *in doubt*: nothing is planned
or followed until the next lease shows whether the log contains it.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, Final, TypeVar, cast

from msgspec.structs import replace

from doorkeeper.acls.snapshot import Snapshot
from doorkeeper.base.slices import Slices, run_in_turns
from doorkeeper.server.runtime.logger import NO_LOG, Logger
from doorkeeper.server.runtime.metrics.meters import StoreStatus
from doorkeeper.server.runtime.request_context import OPERATOR, AuthorizableRequestContext
from doorkeeper.server.runtime.threads import beside, is_cancelled
from doorkeeper.server.schema.change import SERVER, Author, Change, Committed, Origin
from doorkeeper.server.schema.declared import ACL, KINDS
from doorkeeper.server.schema.kind import Kind
from doorkeeper.server.state.state import State, apply, load_snapshot, state_without_acls, with_acls
from doorkeeper.server.state.store import (
    Lease,
    LogEntry,
    LogReader,
    OutcomeUnknown,
    StorageError,
    Store,
    StoreReplaced,
    StoreUnavailable,
)
from doorkeeper.server.state.submissions import (
    RETRY_S,
    Batch,
    CompletedPlan,
    Plan,
    Submission,
    Submissions,
)

T = TypeVar("T")
R = TypeVar("R")

# A bound on one transaction: the writers of other nodes wait until it ends.
BATCH_CHANGES_MAX: Final = 1_000

# With 20,000, 64 clients that create 1,000 ACLs each were a tenth slower: while a store writes,
# only a large last change of the batch is applied; all others are before it begins.
BATCH_ROWS_MAX: Final = 1_000
"""Number of rows that closes a batch for further changes."""

LOG_ROWS: Final = 2_000
"""Rows of the change log that are read at once when following."""

CLOSING_S: Final = 5.0
"""How long ``aclose`` waits for an unavailable store, in seconds."""

AGE_CHECK_S: Final = 1.0
"""Longest pause between two checks of the age, in seconds."""

# While the state is stale each check may end an outage, so it comes 20 times a second.
STALE_CHECK_S: Final = 0.05

CLOSED_EARLY: Final = "The authorizer was closed before the initial load could complete."
"""Error of listeners that wait for the ACLs. The text is Kafka's."""


def origin_of(request: AuthorizableRequestContext | None) -> Origin:
    if request is None:
        return SERVER
    principal = request.principal
    if principal is OPERATOR:
        # A command on a stopped store: no client sent the request.
        return Origin(SERVER.author._replace(client_id=request.client_id))
    author = Author(
        f"{principal.principal_type}:{principal.name}",
        request.client_address,
        request.listener_name,
        request.client_id,
        request.client_software,
        request.correlation_id,
    )
    return Origin(author, request)


def _final_state(batch: Batch) -> State | Slices[State]:
    last = batch.last
    return batch.state if last is None else apply(batch.state, last.change, last.revision)


class StateLog:
    """The state of a node and all changes to it. For the event loop's thread.

    ``state`` is the served state: durable and immutable. A reader takes it once.
    """

    def __init__(
        self,
        store: Store,
        logger: Logger | None = None,
        clock: Callable[[], float] = time.perf_counter,
        *,
        max_age_s: float | None = None,
    ) -> None:
        """Load all rows of a store except the ACLs, which ``start`` loads.

        ``clock`` has a resolution of microseconds. With ``max_age_s`` the state is ``stale``
        once so much time has passed since the store last confirmed that there is nothing newer.
        """
        self.store = store
        self.state = state_without_acls(store.revision, store.rows)
        self._log = NO_LOG if logger is None else logger
        self._clock = clock
        self._local: dict[str, Any] = {}
        self._subscribers: list[tuple[Callable[[Committed], None], frozenset[Kind]]] = []
        self._subscribed_kinds: set[Kind] = set()
        self._prunes_at = BATCH_CHANGES_MAX
        """The length of the queue at which withdrawn changes leave it."""
        self._submissions = Submissions(store)
        self._batch_of_state = store.batch
        self._can_follow = True
        self._head = store.revision
        self._confirmed_s = clock()
        self._closing = False
        self._tasks: list[asyncio.Task[None]] = []
        self._idle = True
        self._load_error: StorageError | None = None
        self._max_age_s = max_age_s

    @property
    def cluster_id(self) -> str:
        return self.store.identity.cluster_id

    @property
    def store_id(self) -> str:
        """Return the id of the store: a copy has another one, a restored backup too."""
        return self.store.identity.store_id

    def subscribe(self, subscriber: Callable[[Committed], None], *kinds: Kind) -> None:
        """Call a function with each change once it is durable and visible; it must not block.

        With ``kinds`` it is called for changes of these kinds, and after a reload of everything.
        """
        self._subscribers.append((subscriber, frozenset(kinds)))
        self._subscribed_kinds |= set(kinds or KINDS.values())

    def status(self) -> StoreStatus:
        """Return the store as readiness and metrics show it."""
        revision = self.state.revision
        is_available = self.store.unavailable is None
        return StoreStatus(is_available, revision, max(self._head, revision), self.age_s)

    @property
    def age_s(self) -> float:
        """Return the seconds since the store last confirmed that there was nothing newer."""
        return self._clock() - self._confirmed_s if self.store.is_shared else 0.0

    def amend(self, **fields: Any) -> None:
        """Publish a state with other local parts, such as ``groups`` and ``members``.

        Without fields, publish the same state as another object, which invalidates caches.
        """
        # The state first: a field that it does not have must not be in the next ones either.
        self.state = replace(self.state, **fields)
        self._local.update(fields)

    def _publish(self, state: State) -> None:
        self.state = replace(state, **self._local)

    def start(self) -> asyncio.Future[None]:
        """Load the ACLs in a thread, then process changes; the future completes with the load.

        Changes that are submitted earlier wait for it.
        """
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._plan_lock = asyncio.Lock()
        self._work = asyncio.Event()
        self._drained = asyncio.Event()
        self.store.start(loop)
        self._submissions.start(loop)
        if self._submissions.queue:
            self._work.set()
        self._loading = loop.create_task(beside(self._load, "doorkeeper-load"))
        self.loaded: asyncio.Future[None] = loop.create_future()
        self._tasks.append(loop.create_task(self._run()))
        return self.loaded

    def _load(self) -> Snapshot:
        return load_snapshot(self.store.rows(ACL), lambda: self._closing)

    async def _run(self) -> None:
        try:
            acls = await self._loading
        except Exception as error:  # waiters on the load get it
            if not self.loaded.done():
                self.loaded.set_exception(error)
                self.loaded.exception()  # mark as retrieved: a node may have no waiter
            self._load_error = StorageError(f"the ACLs could not be loaded: {error}")
            self._submissions.fail_all(self._load_error)
            return
        if self._closing:
            return  # the load stopped early
        self._publish(with_acls(self.state, acls))
        if not self.loaded.done():
            self.loaded.set_result(None)
        self._tasks.append(self._loop.create_task(self.store.follow(self._follow)))
        if self._max_age_s is not None and self.store.is_shared:
            self._tasks.append(self._loop.create_task(self._watch_age(self._max_age_s)))
        self._tasks.append(self._loop.create_task(self._serve_submissions()))

    async def _watch_age(self, max_age_s: float) -> None:
        """Keep ``State.stale`` true, which denies access, while the state is too old."""
        while True:
            age_s = self.age_s
            is_stale = age_s > max_age_s
            if is_stale is not self.state.stale:
                self.amend(stale=is_stale)
                if is_stale:
                    self._log.error("the state is too old: access is denied", age_s=round(age_s, 1))
                else:
                    self._log.info("the state is current again: access is decided by ACLs")
            # A fresh state cannot become stale before its age reaches the maximum.
            pause_s = STALE_CHECK_S if is_stale else min(max_age_s - age_s, AGE_CHECK_S)
            await asyncio.sleep(pause_s)

    async def aclose(self, *, discard: bool = False) -> None:
        """Write the submitted changes, then close the store, or discard it; idempotent."""
        if self._closing:
            return
        if self._tasks and self.loaded.done() and self.loaded.exception() is None:
            limit_s = CLOSING_S if self.store.is_shared else None
            try:
                async with asyncio.timeout(limit_s):
                    while self._submissions.queue or not self._idle:
                        self._drained.clear()
                        await self._drained.wait()
            except TimeoutError:
                self._log.error("changes were not stored", changes=len(self._submissions.queue))
        self._closing = True
        self._submissions.stop()
        if self._tasks and not self.loaded.done():
            self.loaded.set_exception(TimeoutError(CLOSED_EARLY))
            self.loaded.exception()
            # The thread reads the store; it stops at the next row.
            await asyncio.wait([self._loading])
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._submissions.fail_all(StoreUnavailable("the store is closed"))
        await (self.store.discard() if discard else self.store.aclose())

    def submit(self, plan: Plan[R], origin: Origin) -> asyncio.Future[CompletedPlan[R]]:
        """Queue a change, to be planned, committed and published; complete when it is visible.

        Its result is that of the plan, with the revision of the change. Changes are planned in the
        order of submission; an empty change keeps its place too. A change whose future is cancelled
        before it is planned is withdrawn.

        Raises (the future):
            StorageError: the change is not durable (``OutcomeUnknown``: it may be).
            Exception: raised by the plan; nothing is changed.
        """
        loop = asyncio.get_running_loop()
        completion: asyncio.Future[CompletedPlan[R]] = loop.create_future()
        if self._closing or self._load_error is not None:
            completion.set_exception(self._load_error or StoreUnavailable("the store is closed"))
            return completion
        submission = Submission(plan, origin, completion)
        queue = self._submissions.queue
        queue.append(submission)
        if len(queue) >= self._prunes_at:
            # Those that were withdrawn must not pile up while the disk hangs.
            left = [queued for queued in queue if not queued.completion.done()]
            queue.clear()
            queue.extend(left)
            self._prunes_at = max(2 * len(left), BATCH_CHANGES_MAX)
        if self.store.timeout_s is not None:
            self._submissions.limit(submission, self.store.timeout_s)
        if self._tasks:
            self._work.set()
        return completion

    async def _serve_submissions(self) -> None:
        failures = 0
        while True:
            if not self._submissions.queue and self._submissions.doubt is None:
                self._idle = True
                self._drained.set()
                await self._work.wait()
            self._work.clear()
            self._idle = False
            try:
                async with self.store.lease() as lease:
                    await self._write(lease)
                failures = 0
            except (OutcomeUnknown, StoreUnavailable):
                await asyncio.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
                failures += 1
            except StorageError as error:
                # The store itself is unusable: no queued change can be stored.
                self._submissions.fail_all(error)
            except BaseException as error:
                # A store may raise CancelledError itself, which does not end this task.
                if is_cancelled():
                    raise
                # The state may be behind the store: with a shared one, reload it before the next
                # change.
                self._can_follow = not self.store.is_shared
                self._log.error("the state log failed", exc_info=error)
                self._submissions.fail_all(StorageError(f"the state log failed: {error!r}"))

    async def _write(self, lease: Lease) -> None:
        """Resolve the batch in doubt, follow other nodes, then write the next batch."""
        async with self._plan_lock:
            if self._submissions.doubt is not None:
                await self._resolve(lease, self._submissions.doubt)
            if self.store.is_shared:
                await self._catch_up(lease, self._clock())
            batch = await self._plan_batch(lease)
            if batch is None:
                return
            if not batch.entries:
                self._complete(batch, batch.state)
                return
            began_s = self._clock()
            try:
                # A large change is applied in slices while the store writes it; a small one before.
                applying = _final_state(batch)
                # Encoded first, so that the store writes while the loop applies the change.
                encoded = await self._slices(lease.encode(batch.entries), lease)
                committing = lease.commit(encoded, batch.batch_id)
                if not isinstance(applying, State):
                    with suppress(Exception):  # such as MemoryError: applied again below
                        applying = await self._slices(applying)
                await committing
                unapplied = None if isinstance(applying, State) else _final_state(batch)
                state = await self._slices(unapplied) if unapplied else cast("State", applying)
            except (OutcomeUnknown, asyncio.CancelledError):
                # Cancellation reaches the database too late to know whether it committed.
                self._submissions.doubt = batch
                raise
            except StoreUnavailable:
                self._submissions.requeue(batch)
                raise
            except StorageError as error:
                self._isolate_failing_change(batch, error)
                return
            except Exception:
                # A fault of the commit's own code: in doubt, so the waiters get OutcomeUnknown.
                self._submissions.doubt = batch
                raise
            self._batch_of_state = batch.batch_id
            self._confirmed_s = began_s
            self._complete(batch, state)

    async def _plan_batch(self, lease: Lease) -> Batch | None:
        """Plan the queued changes, each on the state after the one before it."""
        state, revision, rows = self.state, self.state.revision, 0
        items: list[Submission] = []
        entries: list[LogEntry] = []
        self._submissions.in_flight = items
        last: Submission | None = None
        while self._submissions.queue and len(items) < BATCH_CHANGES_MAX and rows < BATCH_ROWS_MAX:
            if items and (items[-1].commits_alone or self._submissions.queue[0].commits_alone):
                # A change at fault must fail alone: it shares its transaction with no other.
                break
            submission = self._submissions.queue.popleft()
            if submission.completion.done():
                continue  # the waiter gave up before planning
            items.append(submission)
            if last is not None:
                state = await self._slices(apply(state, last.change, last.revision), lease)
            submission.error, submission.change, submission.result = None, {}, None
            try:
                planned: tuple[Change, Any] = await self._slices(submission.plan(state), lease)
                submission.change, submission.result = planned
            except BaseException as error:
                if is_cancelled():
                    raise
                # A future cannot raise every error.
                submission.error = (
                    error
                    if isinstance(error, Exception) and not isinstance(error, StopIteration)
                    else RuntimeError(f"a plan raised {error!r}")
                )
            last = None
            if submission.change:
                revision += 1
                for set_, deleted in submission.change.values():
                    rows += len(set_) + len(deleted)
                entries.append(LogEntry(revision, submission.origin.author, submission.change))
                last = submission
            submission.revision = revision
        if not items:
            return None
        batch_id = uuid.uuid4() if self.store.is_shared else None
        return Batch(batch_id, items, entries, state, last)

    def _complete(self, batch: Batch, state: State) -> None:
        """Publish the state of a durable batch; notify subscribers before the waiters."""
        if state.revision > self.state.revision:
            self._publish(state)
        self._submissions.in_flight = []
        try:
            for submission in batch.items:
                if submission.change and not self._subscribed_kinds.isdisjoint(submission.change):
                    self._notify(
                        Committed(submission.revision, submission.change, submission.origin)
                    )
        finally:
            # Whatever a subscriber raises: the changes are durable and visible.
            for submission in batch.items:
                if submission.completion.done():
                    continue  # nobody waits
                if submission.error is not None:
                    submission.completion.set_exception(submission.error)
                else:
                    submission.completion.set_result(
                        CompletedPlan(submission.revision, submission.result)
                    )

    def _notify(self, committed: Committed) -> None:
        for subscriber, kinds in self._subscribers:
            if kinds and committed.change and kinds.isdisjoint(committed.change):
                continue
            try:
                subscriber(committed)
            except BaseException as error:
                # The other subscribers still run, and the task of the log goes on.
                if is_cancelled() or isinstance(error, KeyboardInterrupt):
                    raise
                self._loop.call_exception_handler(
                    {"message": "a subscriber of the state log failed", "exception": error}
                )

    def _isolate_failing_change(self, batch: Batch, error: StorageError) -> None:
        """Fail the change that cannot be stored; retry several changes one by one to find it."""
        if len(batch.items) == 1:
            self._log.error("change not stored", cause=str(error))
            batch.items[0].fail(error)
            return
        for submission in batch.items:
            submission.commits_alone = True
        self._submissions.requeue(batch)

    async def _resolve(self, lease: Lease, batch: Batch) -> None:
        """Look up in the log whether the batch in doubt became durable."""
        last = max(submission.revision for submission in batch.items)
        logged_batch = await lease.batch_of(last)
        if self._submissions.doubt is not batch:
            return  # it expired meanwhile, and its waiters failed
        self._submissions.doubt = None
        if logged_batch != (batch.batch_id,):
            self._submissions.requeue(batch)
            return
        state = await self._slices(_final_state(batch))
        self._batch_of_state = batch.batch_id
        self._complete(batch, state)

    async def _slices(self, work: T | Slices[T], lease: Lease | None = None) -> T:
        """Run long work in turns. A ``lease`` is kept meanwhile: long work is no idle lease."""
        if not isinstance(work, Generator):
            return work
        try:
            next(work)
        except StopIteration as end:  # nearly all work ends in its first slice
            result: T = end.value
            return result
        return await run_in_turns(work, self._clock, None if lease is None else lease.keep)

    async def _follow(self, reader: LogReader) -> None:
        asked_s = self._clock()
        async with self._plan_lock:
            if self._submissions.doubt is None:
                await self._catch_up(reader, asked_s)

    async def _catch_up(self, reader: LogReader, asked_s: float) -> None:
        """Apply the revisions of other nodes. The caller holds ``_plan_lock``."""
        head = await reader.head()
        self._head = head
        if head < self.state.revision:
            # Never go back: clients were told that these revisions are durable.
            raise StoreReplaced(
                f"the store is at revision {head}, but this node has acknowledged revision"
                f" {self.state.revision}: the store was replaced or lost changes"
            )
        if not reader.is_checked:
            await self.check_history(reader)
            reader.is_checked = True
        while self._can_follow and self.state.revision < head:
            logged = await reader.changes(self.state.revision, LOG_ROWS)
            if not logged or logged[0].revision != self.state.revision + 1:
                # A gap: the log was pruned beyond this node's revision.
                break
            for entry in logged:
                try:
                    state: State = await self._slices(
                        apply(self.state, entry.change, entry.revision)
                    )
                except Exception as error:  # the state is reloaded instead
                    self._log.error("a logged change cannot be applied", exc_info=error)
                    self._can_follow = False
                    break
                self._batch_of_state = entry.batch
                self._publish(state)
                self._notify(Committed(entry.revision, entry.change, None))
            head = max(head, self.state.revision)
        if self.state.revision < head or not self._can_follow:
            await self._reload(reader)
        self._head = max(self._head, head)
        self._confirmed_s = max(self._confirmed_s, asked_s)

    async def check_history(self, reader: LogReader) -> None:
        """Reject a store whose log has another commit at this node's revision.

        The check runs once for each connection.

        Raises:
            StoreReplaced: another commit wrote the revision there.
        """
        revision = self.state.revision
        if revision == 0 or not self._can_follow or self._submissions.doubt is not None:
            return
        logged_batch = await reader.batch_of(revision)
        if logged_batch is not None and logged_batch != (self._batch_of_state,):
            raise StoreReplaced(
                f"revision {revision} in the store differs from that of this node: the store was"
                " replaced or lost changes"
            )

    async def _reload(self, reader: LogReader) -> None:
        """Reload everything: the log was pruned too far, or following failed."""
        loaded = await reader.load()
        self._log.error(
            "the complete state was reloaded", before=self.state.revision, now=loaded.revision
        )
        state = state_without_acls(loaded.revision, lambda kind: loaded.rows[kind.name])
        acls = await self._loop.run_in_executor(
            None, load_snapshot, loaded.rows[ACL.name], lambda: self._closing
        )
        self._batch_of_state = loaded.batch
        self._can_follow = True
        self._publish(with_acls(state, acls))
        # The difference is unknown: subscribers compare their view with the new state.
        self._notify(Committed(loaded.revision, {}, None))
