"""A store whose commits complete when the test says so."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from doorkeeper.server.state.memory import MemoryStore
from doorkeeper.server.state.store import Lease, Logged

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence
    from contextlib import AbstractAsyncContextManager
    from uuid import UUID

    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.state.store import LogEntry, StorageError, StoredState


class HandStore(MemoryStore):
    """Completes what waits in its order: ``deliver``, once for each commit."""

    def __init__(self, initial: Change | None = None) -> None:
        """Begin with the rows of a change."""
        super().__init__(initial)
        self.waiting: list[tuple[Sequence[LogEntry], asyncio.Future[None]]] = []

    def lease(self) -> AbstractAsyncContextManager[Lease]:  # type: ignore[override]  # no generator
        """Grant the right to write at once."""
        return _HandLease(self)

    def deliver(self, error: StorageError | None = None) -> None:
        """Complete the oldest commit, by an error where one is given."""
        entries, done = self.waiting.pop(0)
        if error is None:
            self.entries += entries
            done.set_result(None)
        else:
            done.set_exception(error)


class _HandLease(Lease):
    def __init__(self, store: HandStore) -> None:
        self._store = store

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass

    def commit(self, encoded: Sequence[LogEntry], batch: UUID | None) -> Awaitable[None]:
        done = asyncio.get_running_loop().create_future()
        self._store.waiting.append((encoded, done))
        return done

    async def head(self) -> int:
        return len(self._store.entries)

    async def batch_of(self, revision: int) -> tuple[UUID | None] | None:
        return (None,)

    async def changes(self, after: int, rows_max: int) -> list[Logged]:
        return []

    async def load(self) -> StoredState:
        raise AssertionError("nobody else writes this store")
