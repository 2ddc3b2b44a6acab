"""The audit log as the server sees it: what is recorded, and whether it is in the file.

    on_decision, logged_in  counted, then queued; never wait, and are dropped without room
    committed, updated      queued; ``recorded`` waits until they are in the file
    refusal                 why nothing may be changed now: only with sync=strict and a disk that
                            takes no more

All of it is for the loop's thread, and none of it blocks but ``open`` and ``close``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from doorkeeper.audit import merging, writer
from doorkeeper.audit.event_builder import change_events, reported
from doorkeeper.audit.events import Recovered, Reload, Start, Stop
from doorkeeper.audit.files import TrailError, TrailFolder
from doorkeeper.audit.merging import Merging
from doorkeeper.audit.options import Recorded, Sync
from doorkeeper.audit.queue import Item, Queue
from doorkeeper.audit.writer import Writer
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.state.log import origin_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from doorkeeper.audit import files
    from doorkeeper.audit.events import Event
    from doorkeeper.audit.merging import Basis
    from doorkeeper.audit.options import TrailOptions
    from doorkeeper.audit.writer import Clocks
    from doorkeeper.connection.exchange import Login
    from doorkeeper.kinds.change import Change, Committed, Origin
    from doorkeeper.logger import Logger
    from doorkeeper.request_context import AuthorizableRequestContext

CLOSE_TIMEOUT_S: Final = 10.0
"""How long the end of the process waits for a disk that does not answer."""


class Meter(merging.Meter, writer.Meter, Protocol):
    """What is counted: the hooks of the server's metrics."""

    def queue(self, length: Callable[[], int]) -> None:
        """Say who knows how many events wait."""
        ...


class Trail:
    """The audit log of one node."""

    def __init__(
        self,
        options: TrailOptions,
        folder: TrailFolder,
        recovered: Sequence[files.Recovered],
        loop: asyncio.AbstractEventLoop,
        *,
        clocks: Clocks,
        logger: Logger,
        meter: Meter,
    ) -> None:
        """Begin to write; first what was recovered."""
        self.options = options
        self._now_ns = clocks.now_ns
        self._folder = folder
        self._log = logger
        self._loop = loop
        self._queue = Queue(options.queue_events_max)
        self._writer = Writer(
            self._queue, folder, options, loop, clocks=clocks, logger=logger, meter=meter
        )
        self._merging = Merging(self._queue, options, loop, now_ns=clocks.now_ns, meter=meter)
        meter.queue(lambda: self._queue.length)
        self.on_decision = self._merging.on_decision
        """Counts what an authorizer has decided."""
        self.on_repeat = self._merging.on_repeat
        """Counts decisions once more, for another request."""
        self._changes = 0
        self._recorded = 0
        self._stopping = False
        self.records_decisions = options.decisions is not Recorded.NONE
        for file in recovered:
            logger.info(
                "a file of the audit trail was completed",
                file=file.name,
                lines=file.lines,
                torn_bytes=file.torn_bytes,
            )
            self._tell(
                Recovered(
                    seq=0,
                    node=0,
                    ts_ns=0,
                    time="",
                    file=file.name,
                    lines=file.lines,
                    torn_bytes=file.torn_bytes,
                )
            )
        self._writer.start()

    @classmethod
    def open(
        cls,
        options: TrailOptions,
        loop: asyncio.AbstractEventLoop,
        *,
        clocks: Clocks,
        logger: Logger,
        meter: Meter,
    ) -> Self:
        """Take the folder, complete what a killed server left there, and begin to write.

        Raises:
            TrailError: the folder cannot be used.

        """
        folder = TrailFolder(options.folder, options.node, compress=options.compress)
        try:
            recovered = folder.recover()
        except OSError as error:
            folder.release()
            reason = f"the audit trail cannot be recovered: {error.strerror}"
            raise TrailError(f"{error.filename or options.folder}: {reason}") from error
        return cls(options, folder, recovered, loop, clocks=clocks, logger=logger, meter=meter)

    # --- what is recorded

    def explain_by(self, basis: Basis) -> None:
        """Look the rules behind decisions up there; without it they are those of a plug-in."""
        self._merging.basis = basis

    def logged_in(self, login: Login) -> None:
        """Count a login, or its failure."""
        self._merging.logged_in(login)

    def committed(self, committed: Committed) -> None:
        """Record a change of this node; those of others are in their audit logs."""
        if committed.origin is not None:
            self.changed(committed.change, committed.revision, committed.origin)

    def changed(self, change: Change, revision: int | None, origin: Origin) -> None:
        """Record a change; its revision is None where an authorizer keeps its ACLs elsewhere."""
        if not change:
            return
        self._changes += 1
        events = partial(change_events, change, revision, origin)
        self._queue.put(Item(self._now_ns(), events, is_change=True))

    def updated(
        self, items: Sequence[Any], results: Sequence[Any], context: AuthorizableRequestContext
    ) -> None:
        """Record what became of ACLs that a plug-in keeps: what it says that it has changed."""
        self.changed(reported(items, results), None, origin_of(context))

    def started(
        self, *, cluster_id: str, version: str, authorizer: str | None, listeners: Sequence[str]
    ) -> None:
        """Record that the server serves."""
        self._tell(
            Start(
                seq=0,
                node=0,
                ts_ns=0,
                time="",
                cluster_id=cluster_id,
                version=version,
                authorizer=authorizer,
                listeners=tuple(listeners),
                sync=self.options.sync.value,
                decisions=self.options.decisions.value,
            )
        )

    def reloaded(self, problem: str | None) -> None:
        """Record that the configuration was read again; ``problem`` says why it was refused."""
        outcome = "SUCCEEDED" if problem is None else "FAILED"
        self._tell(Reload(seq=0, node=0, ts_ns=0, time="", outcome=outcome, reason=problem))

    def _tell(self, event: Event) -> None:
        # These few have room as changes have; none of them is asked for by clients.
        self._queue.put(Item(self._now_ns(), lambda: (event,), is_change=True))

    # --- what a change waits for

    def refusal(self) -> ApiError | None:
        """Return why nothing may be changed now, None where it may."""
        failing = self._writer.failing
        if failing is None or self.options.sync is not Sync.STRICT:
            return None
        return ApiError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            "Nothing was changed: the audit trail cannot be written, and doorkeeper.audit.sync is"
            f" strict: {failing}",
        )

    @property
    def is_recorded(self) -> bool:
        """Say whether every change so far is known to be in the file."""
        return self._recorded == self._changes

    async def recorded(self) -> ApiError | None:
        """Wait until every change so far is in the file, synced where that is promised.

        Return an error where that cannot be: only with strict, and only for changes that were
        under way when the disk failed.
        """
        problem = await self.written()
        if problem is None:
            return None
        return ApiError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            "The change was made, but the audit trail could not be written:"
            f" {problem}. It will be recorded when that is possible.",
        )

    async def written(self) -> str | None:
        """Wait as ``recorded``; return what is wrong with the disk, or None."""
        changes = self._changes
        done: asyncio.Future[str | None] = self._loop.create_future()
        self._queue.when_written(done)
        problem = await done
        if problem is None:
            self._recorded = max(self._recorded, changes)
        return problem

    # --- the end

    def close(self, *, serves: bool = True) -> None:
        """Write what waits, say that the server ends unless none ``serves``, and close the file."""
        if self._stopping:
            return
        self._stopping = True
        self._merging.close()
        if serves:
            self._tell(Stop(seq=0, node=0, ts_ns=0, time=""))
        self._queue.close()
        if not self._writer.join(CLOSE_TIMEOUT_S):
            self._log.error("the audit trail was not closed in time", dir=str(self._folder.path))
        self._folder.release()
