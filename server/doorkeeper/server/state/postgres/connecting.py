"""Connections to a shared store as configured: how they are made, lost and closed."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import asyncpg

from doorkeeper.server.config.shared_store import SharedStore, password_in
from doorkeeper.server.state.postgres.host_selection import connect_to_primary
from doorkeeper.server.state.store import StorageError

APPLICATION: Final = "doorkeeper"
"""Name in ``pg_stat_activity`` unless the URL has one."""


def connector(store: SharedStore) -> Callable[..., Awaitable[asyncpg.Connection]]:
    """Return a function that connects to the primary; it reads a password file each time.

    Its argument is the check that the database must pass; without it every store passes.
    """
    _check_files(store)
    return partial(connect_to_primary, asyncpg.connect, store, _arguments(store))


@asynccontextmanager
async def connection_to(store: SharedStore) -> AsyncIterator[asyncpg.Connection]:
    """Connect for the duration of a command; errors name the store."""
    connect = connector(store)
    try:
        async with opened(connect()) as connection:
            yield connection
    except (*LOST, asyncpg.PostgresError) as error:
        text = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, TimeoutError) and not str(error):
            within_s = store.statement_timeout_ms / 1000
            text = f"no response within {within_s:g} s; another session may have locked the tables"
        raise StorageError(f"{store.display_name}: {text}") from error


def _arguments(store: SharedStore) -> dict[str, Any]:
    # Not str(): the type of passwords prints a placeholder.
    password: object = store.password and str.__str__(store.password)
    if store.password_file is not None:
        password = partial(_password_in, store.password_file)
    words: dict[str, Any] = {
        "password": password,
        "command_timeout": store.statement_timeout_ms / 1000,
        "target_session_attrs": "read-write",
    }
    if "application_name=" not in store.urls[0]:
        words["server_settings"] = {"application_name": APPLICATION}
    return words


def _password_in(file: Path) -> str:
    """Return the current content of the file.

    Raises:
        OSError: it has no password at the moment; handled as a lost connection.
    """
    try:
        return password_in(file)
    except UnicodeDecodeError as error:
        raise OSError(f"{file}: the file is not UTF-8") from error


def _check_files(store: SharedStore) -> None:
    """Reject unusable TLS files with their names, which asyncpg's errors lack."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    files = store.files
    for name in ("sslrootcert", "sslcrl"):
        if name in files:
            _or_refuse(store, name, partial(context.load_verify_locations, cafile=files[name]))
    if "sslcert" in files:
        # Without a password function OpenSSL would ask at the terminal.
        load = partial(context.load_cert_chain, files["sslcert"], files["sslkey"], lambda: "")
        _or_refuse(store, "sslcert and sslkey", load)


def _or_refuse(store: SharedStore, name: str, use: Callable[[], object]) -> None:
    try:
        use()
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        paths = ", ".join(str(store.files[part]) for part in name.split(" and "))
        why = "expected PEM" if isinstance(error, ssl.SSLError) else error
        raise StorageError(f"doorkeeper.store: {name}: {paths}: cannot be used: {why}") from error


# --- lost connections

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
