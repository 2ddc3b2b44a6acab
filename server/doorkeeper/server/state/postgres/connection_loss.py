"""Errors of lost connections, and closing of connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Final

import asyncpg

LOST: Final = (
    OSError,  # TimeoutError too
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.exceptions.OperatorInterventionError,  # shutting down, starting up, terminated
    asyncpg.exceptions.InsufficientResourcesError,
    asyncpg.exceptions.InvalidAuthorizationSpecificationError,
    asyncpg.exceptions.TransactionRollbackError,
    asyncpg.exceptions.LockNotAvailableError,
    asyncpg.exceptions.IdleInTransactionSessionTimeoutError,
    asyncpg.exceptions.ReadOnlySQLTransactionError,  # a standby that is not yet the primary
    asyncpg.exceptions.InvalidCatalogNameError,
    asyncpg.exceptions.PostgresSystemError,
)
"""Errors that may be transient: the node reconnects."""


_CLOSING_S: Final = 1.0


async def close_connection(connection: asyncpg.Connection) -> None:
    """Close a connection; terminate it if the server does not answer."""
    try:
        # asyncpg's own limit does not apply while it cancels an abandoned statement, which never
        # ends on a broken connection.
        async with asyncio.timeout(2 * _CLOSING_S):
            await connection.close(timeout=_CLOSING_S)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection.terminate()


@asynccontextmanager
async def opened(
    connecting: Awaitable[asyncpg.Connection],
) -> AsyncIterator[asyncpg.Connection]:
    """Connect, and close the connection at the end."""
    connection = await connecting
    try:
        yield connection
    finally:
        await close_connection(connection)
