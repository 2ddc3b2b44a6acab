"""The state log and the audit log of commands that change the store of a stopped server.

The audit log is the server's own: its folder, settings, files and numbers, which go on where the
server ended. It is opened for the first change: commands that only read need no right to write
there, and leave nothing.

    store      opened first, so that a server that runs is named as what it is
    audit log  its folder taken; what a killed server left is completed
    change     refused where the server would refuse it; made; waited for until it is recorded
    store      closed, then the audit log, without the event of a server's end
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from doorkeeper.app.errors import StartError
from doorkeeper.app.stores import opened_store
from doorkeeper.kinds.change import SERVER
from doorkeeper.logger import NoLog
from doorkeeper.metrics.hooks import TrailMeter
from doorkeeper.state.log import StateLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from typing import Any

    from doorkeeper.audit.trail import Trail
    from doorkeeper.config.audit import AuditSettings
    from doorkeeper.config.settings import Settings
    from doorkeeper.kinds.change import Committed, Origin
    from doorkeeper.state.log import Plan

_HINT: Final = "ask it (--bootstrap-server), or give the command a node.id that no server has"


class OfflineTrail:
    """The audit log that the configuration names, if any. For the loop's thread."""

    def __init__(self, settings: AuditSettings, node: int) -> None:
        """Prepare; nothing is opened yet. Settings without a folder make none."""
        self._settings = settings
        self._node = node
        self._meter = _Meter()
        self._log = _Log()
        self._refused = False
        self._trail: Trail | None = None

    def open(self) -> None:
        """Begin to write, where there is a folder; may be called again.

        Raises:
            StartError: the folder cannot be used, or its server writes there.

        """
        if self._settings.folder is None or self._trail is not None:
            return
        # A command without an audit log imports nothing of it.
        from doorkeeper.app.audit_log import trail_of  # noqa: PLC0415
        from doorkeeper.audit.files import TrailInUse  # noqa: PLC0415

        loop = asyncio.get_running_loop()
        try:
            self._trail = trail_of(
                self._settings, self._node, loop, logger=self._log, meter=self._meter
            )
        except StartError as error:
            if not isinstance(error.__cause__, TrailInUse):
                raise
            raise StartError(f"{error}; {_HINT}") from error

    @asynccontextmanager
    async def recording(self) -> AsyncIterator[None]:
        """Make a change in the block; it is recorded when the block has ended.

        Raises:
            StartError: nothing was changed, because it could not be recorded; or it was changed,
                and with sync=strict could not be recorded.

        """
        self.open()
        trail = self._trail
        if trail is None:
            yield
            return
        if (refusal := trail.refusal()) is not None:
            self._refused = True
            raise StartError(str(refusal))
        yield
        if not trail.is_recorded and (problem := await trail.written()) is not None:
            self._refused = True
            raise StartError(
                f"The change was made, but the audit trail could not be written: {problem}"
            )

    def committed(self, committed: Committed) -> None:
        """Record a change of the store; does nothing where there is no folder."""
        if self._settings.folder is not None:
            assert self._trail is not None, "it is open before anything changes"
            self._trail.committed(committed)

    def reported(self, items: Sequence[Any], results: Sequence[Any]) -> None:
        """Record what an authorizer that keeps its ACLs elsewhere says that it has changed."""
        if self._trail is not None:
            from doorkeeper.audit.event_builder import reported  # noqa: PLC0415 - as above

            self._trail.changed(reported(items, results), None, SERVER)

    def close(self) -> None:
        """Write what waits; log what went wrong where no error has told it. May be called twice."""
        trail, self._trail = self._trail, None
        if trail is None:
            return
        trail.close(serves=False)
        if self._refused:
            return
        if self._meter.lost_events:
            self._log.error(
                "changes are missing in the audit trail", events=self._meter.lost_events
            )
        self._log.tell()


class _Log(NoLog):
    """Keeps errors until it is known whether the command ends with a line that tells them."""

    def __init__(self) -> None:
        self._errors: list[tuple[str, dict[str, object]]] = []

    def error(self, event: str, **fields: object) -> None:
        self._errors.append((event, fields))

    exception = error

    def tell(self) -> None:
        if not self._errors:
            return
        import structlog  # noqa: PLC0415 - as above

        logger = structlog.get_logger("doorkeeper.audit")
        for event, fields in self._errors:
            logger.error(event, **fields)


class _Meter(TrailMeter):
    """Remembers what could not be written."""

    __slots__ = ("lost_events",)

    def __init__(self) -> None:
        super().__init__()
        self.lost_events = 0

    def lost(self, events: int) -> None:
        self.lost_events += events


@asynccontextmanager
async def offline_log(
    settings: Settings, *, make_store: bool
) -> AsyncIterator[tuple[StateLog, OfflineTrail]]:
    """Open the store that a configuration names; give its state log, not started, and audit log.

    Raises:
        StorageError: a server uses the store, there is none, or it cannot be opened.

    """
    trail = OfflineTrail(settings.audit, settings.node_id)
    async with AsyncExitStack() as opened:
        opened.callback(trail.close)
        store = await opened_store(settings, make_store=make_store)
        opened.push_async_callback(store.aclose)
        log = StateLog(store)
        opened.push_async_callback(log.aclose)
        log.subscribe(trail.committed)
        yield log, trail


async def submit(log: StateLog, trail: OfflineTrail, plan: Plan, origin: Origin) -> None:
    """Start a log, and make one change that is in the audit log when this returns.

    Raises:
        StorageError: it cannot be written.
        StartError: the audit log cannot be written.

    """
    async with trail.recording():
        await log.start()
        await log.submit(plan, origin)


def trail_logs(settings: Settings) -> AbstractContextManager[None]:
    """Show on stderr what the audit log reports; without one, nothing is imported for that."""
    if settings.audit.folder is None:
        return nullcontext()
    from doorkeeper.logs.command_log import command_logs  # noqa: PLC0415

    return command_logs()
