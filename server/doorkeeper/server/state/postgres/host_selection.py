"""Connect to the first of several hosts that accepts writes and has the store.

Hosts are tried in order, each with its share of the time-out: an unresponsive host does not use up
the time of the others, as it would with asyncpg's single limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from traceback import clear_frames
from typing import Any, Final

import asyncpg

from doorkeeper.server.config.shared_store import SharedStore
from doorkeeper.server.state.store import StoreReplaced

Connect = Callable[..., Awaitable[asyncpg.Connection]]
Check = Callable[[asyncpg.Connection], Awaitable[None]]
"""Raises ``StoreReplaced`` for a database that is not the one of this node."""

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
    connect: Connect,
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
        raise failure("; ".join(map(_describe, store.hosts, passed))) from passed[-1]
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
    connect: Connect, url: str, arguments: Mapping[str, Any], check: Check | None
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


def _describe(host: str, error: Exception) -> str:
    return f"{host}: {' '.join(str(error).split()) or type(error).__name__}"
