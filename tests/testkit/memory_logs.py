"""State logs over stores in memory, and the services through which plans are submitted to them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from doorkeeper.server.state.store import Store


class LogServices(NamedTuple):
    """Services of which only the log is used."""

    log: StateLog


@asynccontextmanager
async def memory_log(store: Store | None = None) -> AsyncIterator[StateLog]:
    """Run a log over a store; without one it begins empty."""
    log = StateLog(MemoryStore() if store is None else store)
    await log.start()
    try:
        yield log
    finally:
        await log.aclose()
