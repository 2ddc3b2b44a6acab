"""What it looks like when the database is lost, and letting go of a connection."""

from __future__ import annotations

import asyncio
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
"""What may be over in a moment: we connect again and go on."""


_CLOSING_S: Final = 1.0


async def ended(connection: asyncpg.Connection) -> None:
    """Close a connection; one that does not answer is cut.

    asyncpg's own limit does not count while a statement that was given up is being cancelled,
    which on a connection that leads nowhere lasts for ever.
    """
    try:
        async with asyncio.timeout(2 * _CLOSING_S):
            await connection.close(timeout=_CLOSING_S)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection.terminate()
