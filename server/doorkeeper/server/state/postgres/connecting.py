"""Connections to a shared store: to the first of its hosts that accepts writes and has the store.

Hosts are tried in order, each with its share of the time-out: an unresponsive host does not use up
the time of the others, as it would with asyncpg's single limit.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from traceback import clear_frames
from typing import Any, Final

import asyncpg

from doorkeeper.server.config.shared_store import SharedStore, password_in
from doorkeeper.server.state.store import StorageError, StoreReplaced

Check = Callable[[asyncpg.Connection], Awaitable[None]]
"""Raises ``StoreReplaced`` for a database that is not the one of this node."""

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
    except FAILED as error:
        text = _text(error)
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


# --- the choice of a host

# Functions and operators must be PostgreSQL's own: the search path of a role or database may name
# schemas such as public, where other users can create functions that match better and would run
# with this node's rights.
SEARCH_PATH: Final = "SET search_path = pg_catalog"

# A COMMIT must be durable when it returns, whatever server, database or role have as default. Only
# remote_apply waits for more than this.
DURABLE: Final = (
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') <> 'remote_apply'"
)

READ_ONLY: Final = "it is read-only: a standby or a read-only database"

NEXT: Final = (
    OSError,  # TimeoutError too
    asyncpg.TargetServerAttributeNotMatched,  # a standby
    asyncpg.CannotConnectNowError,  # starting up, or shutting down
    StoreReplaced,
)
"""Errors after which the next host is tried. Others, such as a wrong password, end the search."""


async def connect_to_primary(
    connect: Callable[..., Awaitable[asyncpg.Connection]],
    store: SharedStore,
    arguments: Mapping[str, Any],
    check: Check | None = None,
) -> asyncpg.Connection:
    """Connect to the first host that accepts writes and passes the check.

    Raises:
        StoreReplaced: no host has the store, and some have another one.
        Exception: an error of asyncpg; if each of several hosts failed, a ConnectionError with the
            causes of all.
    """
    share_s = store.connect_timeout_ms / 1000 / len(store.urls)
    passed: list[Exception] = []
    try:
        for url in store.urls:
            try:
                return await _within(share_s, _open(connect, url, arguments, check))
            except NEXT as error:
                passed.append(error)
        if len(passed) == 1:
            raise passed[0]
        is_replaced = any(isinstance(error, StoreReplaced) for error in passed)
        failure = StoreReplaced if is_replaced else ConnectionError
        causes = map("{}: {}".format, store.hosts, map(_text, passed))
        raise failure("; ".join(causes)) from passed[-1]
    finally:
        passed.clear()  # breaks the cycle from an error's traceback to the error


async def _within(share_s: float, opening: Awaitable[asyncpg.Connection]) -> asyncpg.Connection:
    limit = asyncio.timeout(share_s)
    try:
        async with limit:
            return await opening
    except TimeoutError as error:
        if limit.expired():
            raise TimeoutError(f"no response within {share_s:g} s") from error
        raise


async def _open(
    connect: Callable[..., Awaitable[asyncpg.Connection]],
    url: str,
    arguments: Mapping[str, Any],
    check: Check | None,
) -> asyncpg.Connection:
    try:
        connection = await _clear_on_failure(connect(url, timeout=None, **arguments))
    except asyncpg.TargetServerAttributeNotMatched:
        raise asyncpg.TargetServerAttributeNotMatched(READ_ONLY) from None
    except (OSError, asyncpg.InterfaceError):
        raise  # some of these are also ValueErrors
    except ValueError as error:
        # Not the URL, which was validated: PGPORT, for example, or ~/.pgpass.
        raise asyncpg.InterfaceError(f"the environment of libpq: {error}") from error
    try:
        await connection.execute(f"{SEARCH_PATH}; {DURABLE}")
        if check is not None:
            await check(connection)
    except BaseException:
        connection.terminate()
        raise
    return connection


async def _clear_on_failure(connecting: Awaitable[asyncpg.Connection]) -> asyncpg.Connection:
    """Await a connection; if it fails, clear the frames of the error."""
    try:
        return await connecting
    except BaseException as error:
        # asyncpg's functions keep the error that they raise in a local variable: cycles with all
        # objects of a connection, which may outlive many collections, while an
        # outage repeats the attempt again and again.
        cause: BaseException | None = error
        while cause is not None:
            clear_frames(cause.__traceback__)
            cause = cause.__context__
        raise


def _text(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


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

FAILED: Final = (*LOST, asyncpg.PostgresError)
"""Errors of statements, and of a lost connection."""


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
