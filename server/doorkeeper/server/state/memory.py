"""A store in memory: servers of tests lose their changes when they end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import UUID

from doorkeeper.server.schema.change import Change
from doorkeeper.server.schema.kind import Kind
from doorkeeper.server.state.store import (
    Lease,
    LogEntry,
    Store,
    StoreIdentity,
    StoreUnavailable,
)

MEMORY_STORE_ID: Final = "memory-store-of-a-test"
"""The id of every store in memory: a test of clusters names it before its server is there."""


class MemoryStore(Store, Lease):
    """Serves the rows of an initial change as revision 0, and records commits."""

    revision = 0

    def __init__(
        self,
        initial: Change | None = None,
        *,
        cluster_id: str = "memory-store-of-a-test",
        salt_key: bytes = bytes(32),
    ) -> None:
        self._initial: Change = {} if initial is None else initial
        self.identity = StoreIdentity(cluster_id, MEMORY_STORE_ID, salt_key)
        self._closed = False
        self.entries: list[LogEntry] = []
        """The committed entries, in order."""

    def rows(self, kind: Kind) -> Iterator[Any]:
        edit = self._initial.get(kind)
        return iter(() if edit is None else edit.set)

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[Lease]:
        """Grant the lease at once."""
        if self._closed:
            raise StoreUnavailable("the store is closed")
        yield self

    async def aclose(self) -> None:
        self._closed = True

    async def commit(self, encoded: Sequence[LogEntry], batch: UUID | None) -> None:
        self.entries += encoded
