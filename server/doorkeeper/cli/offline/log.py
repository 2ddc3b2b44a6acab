"""The state log and the audit log of commands that change the store of a stopped server.

The audit log is that of the server: its folder, settings and files, and its sequence of numbers. It
is opened for the first change: commands that only read need no permission to write there.

 store      opened first, so that a running server is reported as the user of the store
 audit log  opened; the file of a killed server is completed
 change     rejected if the server would reject it; committed; waits until it is recorded
 store      closed before the audit log, which gets no event of a server's end
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from doorkeeper.server.app.errors import StartError
from doorkeeper.server.app.stores import open_store
from doorkeeper.server.runtime.logger import NoLog
from doorkeeper.server.runtime.metrics.hooks import AuditMeter
from doorkeeper.server.schema.change import SERVER
from doorkeeper.server.state.log import StateLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from typing import Any

    from doorkeeper.server.config.audit import AuditSettings
    from doorkeeper.server.config.settings import Settings
    from doorkeeper.server.operations.audit.audit_log import AuditLog
    from doorkeeper.server.schema.change import Committed, Origin
    from doorkeeper.server.state.submissions import Plan

_HINT: Final = "ask it (--bootstrap-server), or give the command a node.id that no server has"


class OfflineAuditLog:
    """The configured audit log, if any. For the event loop's thread."""

    def __init__(self, settings: AuditSettings, node: int) -> None:
        """Nothing is opened yet. Settings without a folder make no audit log."""
        self._settings = settings
        self._node = node
        self._meter = _Meter()
        self._log = _HeldLog()
        self._refused = False
        self._audit_log: AuditLog | None = None

    def open(self) -> None:
        """Start to write if there is a folder; idempotent.

        Raises:
            StartError: the folder cannot be used, or its server writes there.

        """
        if self._settings.folder is None or self._audit_log is not None:
            return
        # A command without an audit log imports none of its modules.
        from doorkeeper.server.app.audit_log import open_audit_log
        from doorkeeper.server.operations.audit.files import AuditLogInUse

        loop = asyncio.get_running_loop()
        try:
            self._audit_log = open_audit_log(
                self._settings, self._node, loop, logger=self._log, meter=self._meter
            )
        except StartError as error:
            # Only then would the server itself, or another node id, be the remedy.
            if not isinstance(error.__cause__, AuditLogInUse):
                raise
            raise StartError(f"{error}; {_HINT}") from error

    @asynccontextmanager
    async def recording(self) -> AsyncIterator[None]:
        """Record the change of the block before the context ends.

        Raises:
            StartError: nothing was changed, because it could not be recorded; or it was changed,
                and could not be recorded although sync is strict.

        """
        self.open()
        audit_log = self._audit_log
        if audit_log is None:
            yield
            return
        # Before the change: with sync=strict nothing may change that could not be recorded.
        if (refusal := audit_log.refusal()) is not None:
            self._refused = True
            raise StartError(str(refusal))
        yield
        problem = await audit_log.wait_until_recorded()
        if problem is not None:
            self._refused = True
            raise StartError(
                f"The change was made, but the audit log could not be written: {problem}"
            )

    def record_commit(self, committed: Committed) -> None:
        """Record a change of the store; do nothing without a folder."""
        if self._settings.folder is not None:
            assert self._audit_log is not None, "open() precedes changes"
            self._audit_log.record_commit(committed)

    def record_report(self, items: Sequence[Any], results: Sequence[Any]) -> None:
        """Record the changes that an authorizer with its own storage reports."""
        if self._audit_log is not None:
            from doorkeeper.server.operations.audit.event_builder import (
                change_from_results,
            )

            self._audit_log.record_change(change_from_results(items, results), None, SERVER)

    def close(self) -> None:
        """Write the queued events; log problems that no error has reported. Idempotent."""
        audit_log, self._audit_log = self._audit_log, None
        if audit_log is None:
            return
        audit_log.close(serves=False)
        # The error of the command has reported the problem.
        if self._refused:
            return
        if self._meter.lost_events:
            self._log.error("changes are missing in the audit log", events=self._meter.lost_events)
        self._log.tell()


class _HeldLog(NoLog):
    """Holds errors back until it is known whether the command itself reports them."""

    def __init__(self) -> None:
        self._errors: list[tuple[str, dict[str, object]]] = []

    def error(self, event: str, **fields: object) -> None:
        self._errors.append((event, fields))

    exception = error

    def tell(self) -> None:
        if not self._errors:
            return
        from doorkeeper.server.runtime.lean_structlog import structlog

        # Only now: a command without problems starts without structlog.
        logger = structlog.get_logger("doorkeeper.audit")
        for event, fields in self._errors:
            logger.error(event, **fields)


class _Meter(AuditMeter):
    """Counts the events that could not be written."""

    __slots__ = ("lost_events",)

    def __init__(self) -> None:
        super().__init__()
        self.lost_events = 0

    def record_lost(self, events: int) -> None:
        self.lost_events += events


@asynccontextmanager
async def offline_log(
    settings: Settings, *, make_store: bool
) -> AsyncIterator[tuple[StateLog, OfflineAuditLog]]:
    """Open the configured store; yield its state log, not started, and the audit log.

    Raises:
        StorageError: a server uses the store, there is none, or it cannot be opened.

    """
    audit_log = OfflineAuditLog(settings.audit, settings.node_id)
    async with AsyncExitStack() as opened:
        # Registered first, so it runs last: closing the state log may still commit changes.
        opened.callback(audit_log.close)
        store = await open_store(settings, make_store=make_store, is_node=False)
        opened.push_async_callback(store.aclose)
        log = StateLog(store)
        opened.push_async_callback(log.aclose)
        # As ``app.assembly`` does for a server.
        log.subscribe(audit_log.record_commit)
        yield log, audit_log


async def submit(log: StateLog, audit_log: OfflineAuditLog, plan: Plan, origin: Origin) -> None:
    """Start a log, and commit one change; it is in the audit log on return.

    Raises:
        StorageError: it cannot be written.
        StartError: the audit log cannot be written.

    """
    async with audit_log.recording():
        await log.start()
        await log.submit(plan, origin)


def audit_log_output(settings: Settings) -> AbstractContextManager[None]:
    """Show problems of the audit log on stderr; without an audit log import nothing for it."""
    if settings.audit.folder is None:
        return nullcontext()
    from doorkeeper.server.operations.logs.command_log import command_logs

    return command_logs()
