"""The history of the configured store: read for the operations port, its newest hash in the log.

With write access to the database, all hashes of the change log can be written anew. The server's
log is elsewhere, mostly with other permissions; ``history verify --recorded-in`` compares both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from doorkeeper.server.app.stores import location_of, open_for_reading
from doorkeeper.server.runtime.threads import beside
from doorkeeper.server.state.store import StorageError

if TYPE_CHECKING:
    from doorkeeper.server.config.settings import Settings
    from doorkeeper.server.runtime.logger import Logger
    from doorkeeper.server.state.history.verification import RecordedHash
    from doorkeeper.server.state.storage.portable import Portable

    ReadHistory = Callable[[Callable[[Portable], Awaitable[Any]]], Awaitable[Any]]

T = TypeVar("T")


async def read_history(settings: Settings, work: Callable[[Portable], Awaitable[T]]) -> T:
    """Return the result of a function of the store, over a connection beside the one that writes.

    It runs in a thread: SQLite blocks, and a change of 10,000 ACLs takes long to read.

    Raises:
        StorageError: it cannot be read.
    """

    async def read() -> T:
        async with open_for_reading(location_of(settings), alone=False) as store:
            return await work(store)

    return await beside(lambda: asyncio.run(read()), "doorkeeper-history")


# --- its newest hash

INTERVAL_S: Final = 300.0
"""Interval of records while there are changes."""

CLOSE_S: Final = 2.0
"""A store that is away does not delay the end of the server for longer."""


class HashRecords:
    """Logs the newest revision and its hash while there are changes, and at the end."""

    def __init__(
        self,
        read: ReadHistory,
        head: Callable[[], int],
        logger: Logger,
        interval_s: float = INTERVAL_S,
    ) -> None:
        """``read`` calls a function with the open store; ``head`` is the newest revision."""
        self._read = read
        self._head = head
        self._logger = logger
        self._interval_s = interval_s
        self._recorded = head()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Record from now on."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Record the changes since the last time, and end."""
        if self._task is not None:
            self._task.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self.record()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._interval_s)
            await self.record()

    async def record(self) -> None:
        """Log the newest revision and its hash, if there were changes since the last time."""
        # An idle server writes no lines.
        if self._head() <= self._recorded:
            return
        from doorkeeper.server.state.history.verification import newest_hash

        try:
            recorded: RecordedHash | None = await self._read(newest_hash)
        except StorageError as error:
            # The next round records it: a newer hash covers the changes before it.
            self._logger.warning("the newest revision hash could not be recorded", cause=str(error))
            return
        if recorded is not None:
            self._recorded = recorded.revision
            self._logger.info("history", recorded=str(recorded))
