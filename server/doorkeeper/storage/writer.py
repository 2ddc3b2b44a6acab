r"""Group commit: one thread that takes every change that waits and commits them together.

    submit(A) submit(B) submit(C)       the loop's thread, never blocks
         \       |       /
          queue -> [A B C] -> one transaction -> one call into the loop: A's, B's, C's result

While a group is written the next one gathers, so the cost of a sync is shared by as many changes
as arrive during the one before it.

Failure. When a group cannot be committed, its changes are tried one by one in their order, so that
those before the culprit are stored after all. From the culprit on, everything that was submitted
before its failure is *delivered* fails with it, since it was computed on top of it. Both threads
find that line by an epoch: each change carries the loop's epoch of its submission; the writer
skips changes of an epoch that failed; the loop, when it delivers a failure, fails all that is
pending in the same turn and begins the next epoch.

    loop    submit A(0)  submit B(0)            deliver A's failure: A, B fail; epoch 1  submit C(1)
    writer            A fails, epoch 0 is dead  B(0): skipped                            C: stored
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

import apsw
import structlog

from doorkeeper.storage import schema
from doorkeeper.storage.binding_rows import binding_statements, has_many
from doorkeeper.storage.contract import Change, StorageError
from doorkeeper.storage.database import reason
from doorkeeper.storage.rows import execute, log_rows, statements

if TYPE_CHECKING:
    import asyncio

    from structlog.typing import FilteringBoundLogger

    from doorkeeper.metrics.hooks import StoreMeter
    from doorkeeper.storage.rows import LogRow, Statement
    from doorkeeper.storage.upkeep import Upkeep

Result = int | StorageError
OnDone = Callable[[Result], None]

_IDLE_S = 600
"""How long the thread sleeps when nothing comes, before it looks whether pruning is due."""


class _Submission(NamedTuple):
    change: Change
    epoch: int


class Writer:
    """The queue, the thread behind it, and the delivery of results on the loop's thread."""

    def __init__(
        self,
        connection: apsw.Connection,
        upkeep: Upkeep,
        *,
        loop: asyncio.AbstractEventLoop,
        now_ms: Callable[[], int],
        meter: StoreMeter,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._connection = connection
        self._upkeep = upkeep
        self._loop = loop
        self._now_ms = now_ms
        self._meter = meter
        self._clock = clock
        self._queue: SimpleQueue[_Submission | None] = SimpleQueue()
        self._log: FilteringBoundLogger = structlog.get_logger(__name__)
        # The loop's side.
        self._pending: deque[OnDone] = deque()
        self._epoch = 0
        self.delivered_revision = schema.last_revision(connection)
        # The thread's side.
        self._failed_epoch = -1
        self._revision = self.delivered_revision
        # A daemon: a process that ends without close() must not hang on it.
        self._thread = Thread(target=self._run, name="doorkeeper-store", daemon=True)
        self._thread.start()

    # --- the loop's thread ---

    def submit(self, change: Change, on_done: OnDone) -> None:
        """Put a change in line."""
        self._pending.append(on_done)
        self._queue.put(_Submission(change, self._epoch))

    @property
    def is_settled(self) -> bool:
        """Say whether every change that was submitted has been delivered."""
        return not self._pending

    def close(self) -> None:
        """Write what is in line and end the thread. Results still go to the loop, if it runs."""
        self._queue.put(None)
        self._thread.join()

    def _deliver(self, results: list[Result]) -> None:
        for result in results:
            on_done = self._pending.popleft()
            if isinstance(result, StorageError):
                self._fail_pending(on_done, result)
            else:
                self.delivered_revision = result
                self._tell(on_done, result)

    def _fail_pending(self, first: OnDone, error: StorageError) -> None:
        """Fail the culprit and all behind it; what their callbacks submit is a new epoch."""
        failed = [first, *self._pending]
        self._pending.clear()
        self._epoch += 1
        for on_done in failed:
            self._tell(on_done, error)

    def _tell(self, on_done: OnDone, result: Result) -> None:
        try:
            on_done(result)
        except Exception as error:  # noqa: BLE001 - the results behind it are others' answers
            self._loop.call_exception_handler(
                {"message": "a callback of the store failed", "exception": error}
            )

    # --- the writer's thread ---

    def _run(self) -> None:
        wait_s: float = 0
        closing = False
        while not closing:
            group, closing = self._take(wait_s)
            if group:
                self._finish(self._commit(group))
                self._upkeep.after_commit()
            more = not closing and self._queue.empty() and self._upkeep.when_idle()
            wait_s = 0 if more else _IDLE_S

    def _take(self, wait_s: float) -> tuple[list[_Submission], bool]:
        """Return everything that waits, and whether the store is being closed."""
        group: list[_Submission] = []
        try:
            item = self._queue.get(timeout=wait_s) if wait_s else self._queue.get_nowait()
            while item is not None:
                group.append(item)
                item = self._queue.get_nowait()
        except Empty:
            return group, False
        return group, True

    def _finish(self, results: list[Result]) -> None:
        if not results:
            return
        try:
            self._loop.call_soon_threadsafe(self._deliver, results)
        except RuntimeError:
            # The loop was closed, and nobody waits. The changes are stored all the same.
            self._log.debug("store_results_undelivered", results=len(results))

    def _commit(self, group: list[_Submission]) -> list[Result]:
        """Store a group; return a result for each change up to the first failure."""
        changes = [item.change for item in group if item.epoch > self._failed_epoch]
        if not changes:
            return []
        results: list[Result] = []
        try:
            results.extend(self._write(changes))
        except StorageError as error:
            if len(changes) == 1:
                results.append(error)
            else:
                results.extend(self._commit_singly(changes))
        if results and isinstance(results[-1], StorageError):
            self._failed_epoch = group[-1].epoch
            self._log.error("store_write_failed", error=str(results[-1]))
        return results

    def _commit_singly(self, changes: list[Change]) -> list[Result]:
        results: list[Result] = []
        for change in changes:
            try:
                results.extend(self._write([change]))
            except StorageError as error:
                results.append(error)
                break
        return results

    def _write(self, changes: list[Change]) -> list[int]:
        """Store changes in one transaction and return their revisions.

        Raises:
            StorageError: none of them is stored.

        """
        try:
            self._leave_transaction()
            revision, time_ms = self._revision, self._now_ms()
            revisions: list[int] = []
            numbered: list[tuple[int, Change]] = []
            for change in changes:
                if change:
                    revision += 1
                    numbered.append((revision, change))
                revisions.append(revision)
            if numbered:
                made = _statements(numbered, time_ms)
                began_s = self._clock()
                execute(self._connection, made)
                self._meter.stored(revision - self._revision, self._clock() - began_s)
        except Exception as error:  # whatever a change holds, the thread must outlive it
            with suppress(apsw.Error):  # the next change tries again, and fails if it cannot
                self._leave_transaction()
            self._meter.failed()
            raise StorageError(f"{self._connection.filename}: {reason(error)}") from error
        self._revision = revision
        return revisions

    def _leave_transaction(self) -> None:
        """Roll back what a failed statement left open: a commit on top of it would be none."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def _statements(numbered: list[tuple[int, Change]], time_ms: int) -> list[Statement]:
    """Return what writes changes, given with their revisions, in their order."""
    made: list[Statement] = []
    rows: list[LogRow] = []
    for revision, change in numbered:
        if has_many(change):
            made += statements(rows)
            made += binding_statements(change, revision, time_ms)
            rows = []
        else:
            rows += log_rows(change, revision, time_ms)
    return made + statements(rows)
