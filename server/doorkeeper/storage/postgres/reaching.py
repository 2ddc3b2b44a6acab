"""Connecting to the first of several hosts that takes writes.

Hosts are tried in order, each for its share of the time: one that is dead without a word does not
keep us from the next, as it would in asyncpg, whose limit is for all of them together.

Functions and operators are PostgreSQL's own, whatever the search path of the role or the database
says: it names schemas such as ``public``, where others may make functions that fit their arguments
better than PostgreSQL's, and would be called with our rights.
"""

from __future__ import annotations

import asyncio
from traceback import clear_frames
from typing import TYPE_CHECKING, Any, Final

import asyncpg

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from doorkeeper.config.shared_store import SharedStore

    Connect = Callable[..., Awaitable[asyncpg.Connection]]

SEARCH_PATH: Final = "SET search_path = pg_catalog"

READ_ONLY: Final = "it takes no writes: a standby, or a database that is read-only"

NEXT: Final = (
    OSError,  # TimeoutError too
    asyncpg.TargetServerAttributeNotMatched,  # a standby
    asyncpg.CannotConnectNowError,  # starting up, or shutting down
)
"""What sends us to the next host. One that refuses us, for our password say, ends the search."""


async def reached(
    connect: Connect, store: SharedStore, arguments: Mapping[str, Any]
) -> asyncpg.Connection:
    """Connect to the first host that takes writes.

    Raises:
        Exception: what asyncpg raises; where each of several hosts was tried in vain, a
            ConnectionError that tells of all of them.

    """
    share_s = store.connect_timeout_ms / 1000 / len(store.urls)
    passed: list[Exception] = []
    try:
        for url in store.urls:
            try:
                return await _within(share_s, connect, url, arguments)
            except NEXT as error:
                passed.append(error)
        if len(passed) == 1:
            raise passed[0]
        raise ConnectionError("; ".join(map(_told, store.hosts, passed))) from passed[-1]
    finally:
        passed.clear()  # an error refers to this function, and would to itself


async def _within(
    share_s: float, connect: Connect, url: str, arguments: Mapping[str, Any]
) -> asyncpg.Connection:
    limit = asyncio.timeout(share_s)
    try:
        async with limit:
            return await _opened(connect, url, arguments)
    except TimeoutError as error:
        if limit.expired():
            raise TimeoutError(f"no answer within {share_s:g} s") from error
        raise


async def _opened(connect: Connect, url: str, arguments: Mapping[str, Any]) -> asyncpg.Connection:
    try:
        connection = await _let_go_of(connect(url, timeout=None, **arguments))
    except asyncpg.TargetServerAttributeNotMatched:
        raise asyncpg.TargetServerAttributeNotMatched(READ_ONLY) from None
    except (OSError, asyncpg.InterfaceError):
        raise  # some of these are ValueErrors, too
    except ValueError as error:
        # Not the URL, which was checked: PGPORT, for example, or ~/.pgpass.
        raise asyncpg.InterfaceError(f"the environment of libpq: {error}") from error
    try:
        await connection.execute(SEARCH_PATH)
    except BaseException:
        connection.terminate()
        raise
    return connection


async def _let_go_of(connecting: Awaitable[asyncpg.Connection]) -> asyncpg.Connection:
    """Leave nothing behind where that fails.

    asyncpg's functions keep the error that they raise, and it refers to them: circles with all of a
    connection in them, which may last too long for the garbage collector (``docs/decisions/0218``),
    and a database that is away is tried for as long as it is.
    """
    try:
        return await connecting
    except BaseException as error:
        found: BaseException | None = error
        while found is not None:
            clear_frames(found.__traceback__)
            found = found.__context__
        raise


def _told(host: str, error: Exception) -> str:
    return f"{host}: {' '.join(str(error).split()) or type(error).__name__}"
