"""One change of a store that no server uses: what commands write while the server is stopped."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from doorkeeper.storage.contract import StorageError

if TYPE_CHECKING:
    from doorkeeper.storage.contract import Change, Store


def write_once(store: Store, change: Change) -> None:
    """Write a change and return when it is durable; the store can then only be closed.

    Raises:
        StorageError: it cannot be written.

    """
    asyncio.run(written(store, change))


async def written(store: Store, change: Change) -> None:
    """Start a store, write a change, and return when it is durable.

    Raises:
        StorageError: it cannot be written.

    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[int | StorageError] = loop.create_future()
    store.start(loop)
    store.submit(lambda: change, done.set_result)
    outcome = await done
    if isinstance(outcome, StorageError):
        raise outcome
