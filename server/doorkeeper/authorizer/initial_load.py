"""Reads all ACLs when the server starts, in a thread beside the loop.

Until it ends super users are served on the listeners that start early, and nobody else anywhere.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from doorkeeper.acl.bulk import load
from doorkeeper.acl.snapshot import EMPTY, Snapshot
from doorkeeper.collector import collector_paused

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from doorkeeper.storage.contract import Store, StoredBinding

FREEZE_FROM = 10_000
"""From so many ACLs on they are taken out of the sight of Python's garbage collector.

A full collection over a million ACLs stops the server for half a second, and finds nothing."""


class InitialLoad:
    """One reading of a store; ``done`` completes when its ACLs are in use."""

    def __init__(self, loop: asyncio.AbstractEventLoop, use: Callable[[Snapshot], None]) -> None:
        """Take the loop, and what is called on it with the snapshot just before ``done``."""
        self.done: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._use = use

    def begin(self, store: Store | None) -> None:
        """Start reading; without a store there is nothing to read, and all is done."""
        if store is None:
            self._use(EMPTY)
            self.done.set_result(None)
            return
        reading = self._loop.run_in_executor(None, self._read, store)
        reading.add_done_callback(self._end)

    def close(self) -> None:
        """Give up: ``done`` fails if it has not completed."""
        if not self.done.done():
            self._fail(
                TimeoutError("The authorizer was closed before the initial load could complete.")
            )

    def _read(self, store: Store) -> Snapshot:
        with collector_paused():
            snapshot = load(self._until_closed(store))
        if snapshot.count >= FREEZE_FROM:
            gc.freeze()
        return snapshot

    def _until_closed(self, store: Store) -> Iterator[StoredBinding]:
        for stored in store.bindings():
            if self.done.done():
                return
            yield stored

    def _end(self, reading: asyncio.Future[Snapshot]) -> None:
        error = None if reading.cancelled() else reading.exception()
        if self.done.done() or reading.cancelled():
            return
        if error is not None:
            self._fail(error)
            return
        self._use(reading.result())
        self.done.set_result(None)

    def _fail(self, error: BaseException) -> None:
        self.done.set_exception(error)
        # Where no listener waits for it, nobody reads the error; Python need not complain of that.
        self.done.exception()
