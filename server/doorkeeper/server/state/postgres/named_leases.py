"""Named leases of a shared store: session locks of PostgreSQL, over one connection of each node.

The database gives a lock up when the session ends, and ends the session of a node that is frozen:
it is idle for longer than the time-out. Such a node finds its session closed when it goes on, and
holds nothing. Between two signs of life a node trusts its lease for a shorter time than the
database does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import asyncpg

from doorkeeper.server.runtime.lean_structlog import structlog
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.state.postgres.connecting import FAILED, close_connection
from doorkeeper.server.state.postgres.health import reason
from doorkeeper.server.state.store import StorageError

Connect = Callable[[], Awaitable[asyncpg.Connection]]

_PREFIX: Final = "doorkeeper "
_TAKE: Final = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))"
_RELEASE: Final = "SELECT pg_advisory_unlock(hashtextextended($1, 0))"
_FAILED: Final = (*FAILED, StorageError)


class NamedLeases:
    """The session of a node, and the names that it holds."""

    def __init__(self, connect: Connect, timeout_s: float) -> None:
        """After ``timeout_s`` without a sign of life the database ends the session."""
        self._connect = connect
        self._timeout_s = timeout_s
        self._log: Logger = structlog.get_logger("doorkeeper.store")
        self._connection: asyncpg.Connection | None = None
        self._held: set[str] = set()
        self._sign_s = 0.0
        self._turn = asyncio.Lock()
        self._living: asyncio.Task[None] | None = None

    async def keep(self, name: str) -> bool:
        """Take or renew a lease; return whether this node holds it."""
        if name in self._held and self._is_trusted():
            return True
        async with self._turn:
            try:
                connection = await self._session()
                if name not in self._held and await connection.fetchval(_TAKE, _PREFIX + name):
                    self._held.add(name)
                self._sign_s = asyncio.get_running_loop().time()
            except _FAILED as error:
                self._log.warning("cannot acquire a lease", lease=name, cause=reason(error))
                self._lose()
            return name in self._held

    async def release(self, name: str) -> None:
        """Leave a lease to other nodes; with the last one the session ends."""
        async with self._turn:
            if name in self._held and self._connection is not None:
                self._held.discard(name)
                with suppress(*_FAILED):
                    await self._connection.execute(_RELEASE, _PREFIX + name)
            if not self._held:
                connection, self._connection = self._connection, None
                self._lose()
                if connection is not None:
                    await close_connection(connection)

    def _is_trusted(self) -> bool:
        connection = self._connection
        if connection is None or connection.is_closed():
            return False
        return asyncio.get_running_loop().time() - self._sign_s < self._timeout_s / 2

    async def _session(self) -> asyncpg.Connection:
        connection = self._connection
        if connection is not None and not connection.is_closed():
            # A sign of life; it fails where the database has ended the session.
            await connection.execute("SELECT")
            return connection
        self._lose()
        self._connection = connection = await self._connect()
        idle_ms = max(1, round(self._timeout_s * 1000))
        # As for the lease of writers: PostgreSQL 13 has no time-out of idle sessions. An open
        # transaction that reads no tables keeps nothing from being vacuumed.
        await connection.execute(f"SET idle_in_transaction_session_timeout = {idle_ms}; BEGIN")
        self._living = asyncio.get_running_loop().create_task(self._live(connection))
        return connection

    async def _live(self, connection: asyncpg.Connection) -> None:
        """Give signs of life while the session lasts."""
        while True:
            await asyncio.sleep(self._timeout_s / 4)
            async with self._turn:
                try:
                    await connection.execute("SELECT")
                except _FAILED:
                    # The next call of keep finds it closed.
                    connection.terminate()
                    return
                self._sign_s = asyncio.get_running_loop().time()

    def _lose(self) -> None:
        """Forget the session and what it held."""
        self._held.clear()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()
        living, self._living = self._living, None
        if living is not None:
            living.cancel()
