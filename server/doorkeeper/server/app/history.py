"""The history of the configured store, for the operations port."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from doorkeeper.server.config.store_keys import DATA_DIR

if TYPE_CHECKING:
    from doorkeeper.server.config.settings import Settings
    from doorkeeper.server.state.storage.portable import Portable

T = TypeVar("T")


class StoreHistory:
    """Reads the store over a connection of its own, beside the one that writes."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def read(self, work: Callable[[Portable], Awaitable[T]]) -> T:
        """Return the result of a function of the open store.

        Raises:
            StorageError: it cannot be read.
        """
        if self._settings.store is None:
            # SQLite blocks: in a thread the event loop goes on.
            return await asyncio.to_thread(lambda: asyncio.run(self._read_embedded(work)))
        from doorkeeper.server.state.postgres import portable
        from doorkeeper.server.state.postgres.connecting import connection_to

        shared = self._settings.store
        async with (
            connection_to(shared) as connection,
            portable.reading(connection, shared.display_name, alone=False) as store,
        ):
            return await work(store)

    async def _read_embedded(self, work: Callable[[Portable], Awaitable[T]]) -> T:
        from doorkeeper.server.state.storage import (
            portable_embedded,
        )

        async with portable_embedded.reading(self._settings[DATA_DIR], alone=False) as store:
            return await work(store)
