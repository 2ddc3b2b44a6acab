"""The audit log of a server.

 on_decision, record_login     counted, then queued; never wait, and are dropped without room
 record_commit, record_update  queued; ``wait_until_recorded`` waits until they are in the file,
                               with sync=strict also synced
 refusal                       why no change is possible now: only with sync=strict and a
                               failing disk

All methods are for the event loop's thread; only the constructor, ``close`` and ``discard`` block.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.config.audit_keys import (
    AUDIT_COMPRESSION,
    AUDIT_DECISIONS,
    AUDIT_QUEUE_EVENTS,
    AUDIT_SYNC,
    Recorded,
    Sync,
)
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.operations.audit.event_builder import change_events, change_from_results
from doorkeeper.server.operations.audit.events import Cluster, Event, Reload, Start, Stop
from doorkeeper.server.operations.audit.files import AuditFolder, AuditLogError
from doorkeeper.server.operations.audit.merging import Merging
from doorkeeper.server.operations.audit.queue import Queue, QueuedEvents
from doorkeeper.server.operations.audit.writer import Clocks, Writer
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.metrics.meters import AuditMeter
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext
from doorkeeper.server.schema.change import Change, Committed, Origin
from doorkeeper.server.state.log import origin_of

if TYPE_CHECKING:
    from doorkeeper.server.authorizer.standard import StandardAuthorizer
    from doorkeeper.server.net.protocol.exchange import Login
    from doorkeeper.server.operations.audit.cluster_changes import ClusterEvent

CLOSE_TIMEOUT_S: Final = 10.0
"""How long the end of the process waits for an unresponsive disk."""

PROBLEM_S: Final = 1.0
"""For how long changes are answered with an error after one that was not recorded."""

STALLED: Final = "the disk does not respond"


class AuditLog:
    """The audit log of one node."""

    def __init__(
        self,
        settings: Settings,
        path: Path,
        loop: asyncio.AbstractEventLoop,
        *,
        clocks: Clocks,
        logger: Logger,
        meter: AuditMeter,
    ) -> None:
        """Lock the folder ``path``, complete the file of a killed server, and start to write."""
        self.settings = settings
        self._now_ns = clocks.now_ns
        compress = settings[AUDIT_COMPRESSION] != "none"
        self._folder = folder = AuditFolder(path, settings.node_id, compress=compress)
        try:
            recovered = folder.recover()
        except OSError as error:
            folder.release()
            reason = f"the audit log cannot be recovered: {error.strerror}"
            raise AuditLogError(f"{error.filename or path}: {reason}") from error
        self._log = logger
        self._loop = loop
        self._queue = Queue(settings[AUDIT_QUEUE_EVENTS])
        self._writer = Writer(
            self._queue, folder, settings, loop, clocks=clocks, logger=logger, meter=meter
        )
        self._merging = Merging(self._queue, settings, loop, now_ns=clocks.now_ns, meter=meter)
        meter.queue(lambda: self._queue.size)
        self.on_decision = self._merging.on_decision
        """Counts decisions of an authorizer."""
        self._last_change: asyncio.Future[str | None] | None = None
        """Completed when the last change, and all before it, are written or lost."""
        self._overdue: asyncio.Future[str | None] | None = None
        """That of the newest change that was not recorded in time."""
        self._problems: list[str] = []
        """Why changes of the last second were not recorded."""
        self._stopping = False
        self.records_decisions = settings[AUDIT_DECISIONS] is not Recorded.NONE
        for file in recovered:
            logger.info(
                "audit log file closed",
                file=file.file,
                lines=file.lines,
                torn_bytes=file.torn_bytes,
            )
            self._put(file)
        self._writer.start()

    # --- what is recorded

    def explain_by(self, basis: StandardAuthorizer) -> None:
        """Compute rules behind decisions from ``basis``; without it a plug-in decides."""
        self._merging.basis = basis

    def record_login(self, login: Login) -> None:
        self._merging.record_login(login)

    def record_commit(self, committed: Committed) -> None:
        """Record a change of this node; other nodes record their own."""
        if committed.origin is not None:
            self.record_change(committed.change, committed.revision, committed.origin)

    def record_change(self, change: Change, revision: int | None, origin: Origin) -> None:
        """Record a change; ``revision`` is None if an authorizer has its own storage."""
        if not change:
            return
        events = partial(change_events, change, revision, origin)
        self._last_change = self._loop.create_future()
        self._last_change.add_done_callback(self._keep_problem)
        self._queue.put(
            QueuedEvents(
                self._now_ns(), events, changes=1, must_be_kept=True, waiter=self._last_change
            ),
            must_be_kept=True,
        )

    def record_update(
        self,
        items: Sequence[Any],
        results: Sequence[Any],
        context: AuthorizableRequestContext | None,
    ) -> None:
        """Record the changes that a plug-in with its own storage reports."""
        self.record_change(change_from_results(items, results), None, origin_of(context))

    def record_start(
        self, *, cluster_id: str, version: str, authorizer: str | None, listeners: Sequence[str]
    ) -> None:
        self._put(
            Start(
                cluster_id=cluster_id,
                version=version,
                authorizer=authorizer,
                listeners=tuple(listeners),
                sync=self.settings[AUDIT_SYNC].value,
                decisions=self.settings[AUDIT_DECISIONS].value,
            )
        )

    def record_reload(self, problem: str | None) -> None:
        """Record a reload; ``problem`` is the reason of a rejected one."""
        outcome = "SUCCEEDED" if problem is None else "FAILED"
        self._put(Reload(outcome=outcome, reason=problem))

    def record_cluster(self, event: ClusterEvent) -> None:
        """Record an event of a Kafka cluster that gets the ACLs of this server."""
        self._put(
            Cluster(
                cluster=event.cluster,
                event=event.kind.name,
                revision=event.revision,
                missing=event.missing,
                extra=event.extra,
                brokers=tuple(map(str, event.brokers)),
                reason=event.detail or None,
            )
        )

    def _put(self, event: Event) -> None:
        # Rare and not caused by clients, so they always have room.
        item = QueuedEvents(self._now_ns(), lambda: (event,), must_be_kept=True)
        self._queue.put(item, must_be_kept=True)

    # --- what a change waits for

    def refusal(self) -> ApiError | None:
        """Return why no change is possible now; None if changes are possible."""
        failing = self._writer.failing or self._stalled()
        if failing is None or self.settings[AUDIT_SYNC] is not Sync.STRICT:
            return None
        return ApiError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            "Nothing was changed: the audit log cannot be written, and doorkeeper.audit.sync is"
            f" strict: {failing}",
        )

    async def wait_until_recorded(self, timeout_s: float) -> str | None:
        """Wait until every change so far is in the file, with strict also synced.

        Return why it is not: with strict, the problem of the disk, for changes during the failure,
        or that it has not answered in time; further changes are refused then, until it does. In
        any mode, that the event cannot be made. Otherwise None: without strict also where a disk
        failed or hung, and the event is lost or late.
        """
        last = self._last_change
        if last is not None:
            # Not the future itself: a waiter may be cancelled, and others wait too.
            await asyncio.wait((last,), timeout=timeout_s)
            if not last.done():
                self._overdue = last
                return self._stalled()
            if last is self._last_change:
                self._last_change = None
        # Changes are recorded in order, so those before the last one have a result. The thread may
        # have taken one alone and failed, and succeeded with the next.
        return next(iter(self._problems), None)

    def _stalled(self) -> str | None:
        """Return the problem while a change has not been recorded in time, and is not yet."""
        if self._overdue is not None and self._overdue.done():
            self._overdue = None
        is_strict = self.settings[AUDIT_SYNC] is Sync.STRICT
        return STALLED if is_strict and self._overdue is not None else None

    def _keep_problem(self, change: asyncio.Future[str | None]) -> None:
        problem = None if change.cancelled() else change.result()
        if problem is not None:
            self._problems.append(problem)
            # Whoever waits for it asks within a few turns of the loop.
            self._loop.call_later(PROBLEM_S, self._problems.remove, problem)

    # --- the end

    def close(self, *, serves: bool = True) -> None:
        """Write the queued events, with that of the end if it ``serves``; close the file."""
        if self._stopping:
            return
        self._end(Stop() if serves else None)
        self._folder.release()

    def discard(self) -> None:
        """Close the file as ``close``; remove all files if this process has created the folder."""
        if not self._stopping:
            self._end(None)
            self._folder.discard()

    def _end(self, last: Event | None) -> None:
        self._stopping = True
        self._merging.close()
        if last is not None:
            self._put(last)
        if not self._queue.close(CLOSE_TIMEOUT_S):
            self._log.error("the audit log was not closed in time", dir=str(self._folder.path))
