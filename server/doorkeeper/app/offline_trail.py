"""The audit trail of commands that change the store of a stopped server: its server's own.

It has the server's folder, settings, files and numbers, which go on where the server ended. It is
opened for the first change: who only looks needs no right to write there, and leaves nothing.

    store     opened first, so that a server that runs is named as what it is
    trail     its folder taken; what a killed server left is completed
    change    refused where the server would refuse it; made; waited for until it is recorded
    store     closed, then the trail, without the event of a server's end
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from doorkeeper.app.errors import StartError
from doorkeeper.app.recorded_store import RecordedStore
from doorkeeper.app.stores import opened_store
from doorkeeper.metrics.hooks import TrailMeter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from doorkeeper.audit.trail import Trail
    from doorkeeper.config.audit import AuditSettings
    from doorkeeper.config.settings import Settings
    from doorkeeper.storage.contract import Change, Store

_HINT: Final = "ask it (--bootstrap-server), or give the command a node.id that no server has"


class OfflineTrail:
    """The trail that the configuration names, where it names one. For the loop's thread."""

    def __init__(self, settings: AuditSettings, node: int) -> None:
        """Prepare; nothing is opened yet. Settings without a folder make none."""
        self._settings = settings
        self._node = node
        self._meter = _Meter()
        self._log = _Log()
        self._refused = False
        self._trail: Trail | None = None

    def around(self, store: Store) -> Store:
        """Return a store whose changes are recorded."""
        if self._settings.folder is None:
            return store
        return RecordedStore(store, self.changed)

    @property
    def is_open(self) -> bool:
        """Say whether there is a trail, and it is being written."""
        return self._trail is not None

    def open(self) -> None:
        """Begin to write, where there is a folder; may be called again.

        Raises:
            StartError: the folder cannot be used, or its server writes there.

        """
        if self._settings.folder is None or self._trail is not None:
            return
        # A command without a trail imports nothing of it.
        from doorkeeper.app.auditing import trail_of  # noqa: PLC0415
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
        if not trail.is_recorded and (problem := await _written(trail)) is not None:
            self._refused = True
            raise StartError(
                f"The change was made, but the audit trail could not be written: {problem}"
            )

    def changed(self, change: Change, revision: int | None) -> None:
        """Record a change that was made; without a revision where the store has nothing of it."""
        assert self._trail is not None, "it is open before anything changes"
        self._trail.changed(change, revision)

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


async def _written(trail: Trail) -> str | None:
    """Wait until all changes are in the file, synced where that is promised; return why not."""
    done: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    def on_written(problem: str | None) -> None:
        if not done.done():
            done.set_result(problem)

    trail.when_written(on_written)
    return await done


class _Log:
    """Keeps errors until it is known whether the command ends with a line that tells them."""

    def __init__(self) -> None:
        self._errors: list[tuple[str, dict[str, object]]] = []

    def error(self, event: str, **fields: object) -> None:
        self._errors.append((event, fields))

    def info(self, event: str, **fields: object) -> None:
        """Leave it out: it is for who watches a server."""

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
async def recorded_store(
    settings: Settings, *, make_store: bool
) -> AsyncIterator[tuple[Store, OfflineTrail]]:
    """Open the store that a configuration names, and give it with its trail.

    Raises:
        StorageError: a server uses the store, there is none, or it cannot be opened.

    """
    trail = OfflineTrail(settings.audit, settings.node_id)
    store = await opened_store(settings, make_store=make_store)
    try:
        yield trail.around(store), trail
    finally:
        try:
            await store.aclose()
            # What nobody has waited for is delivered, and so recorded, in the loop's next turn.
            await asyncio.sleep(0)
        finally:
            trail.close()


def trail_logs(settings: Settings) -> AbstractContextManager[None]:
    """Show on stderr what the trail has to say; without one, nothing is imported for that."""
    if settings.audit.folder is None:
        return nullcontext()
    from doorkeeper.app.command_logs import command_logs  # noqa: PLC0415

    return command_logs()
