"""Connecting: to the first host that lives, and so that nobody else's functions are called."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from doorkeeper.server.state.postgres.connecting import READ_ONLY, connect_to_primary, connector
from doorkeeper.server.state.store import StoreReplaced
from testkit.cycles import left_in_cycles
from testkit.shared_stores import prepared, store_of, write
from testkit.stores import adding

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from doorkeeper.server.config.shared_store import SharedStore
    from testkit.postgres import Database

TWO = "postgresql://u@dead:1,live:2/d"
CONNECT_MS = "doorkeeper.store.connect.timeout.ms={}"


class Connection:
    """What ``reached`` needs of one."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.is_closed = False

    async def execute(self, statement: str) -> None:
        self.settings = statement

    def terminate(self) -> None:
        self.is_closed = True


def hosts(**answers: Exception | None) -> Callable[..., Awaitable[Any]]:
    """Return a connect for hosts that answer at once; those without an answer never do."""

    async def connect(url: str, **_arguments: Any) -> Any:
        host = url.partition("@")[2].partition(":")[0]
        if host not in answers:
            await asyncio.Event().wait()
        if (error := answers[host]) is not None:
            raise error
        return Connection(host)

    return connect


def two(timeout_ms: int = 60_000) -> SharedStore:
    return store_of(TWO, CONNECT_MS.format(timeout_ms))


async def test_silent_host_has_a_share_of_the_timeout() -> None:
    found = await connect_to_primary(hosts(live=None), two(timeout_ms=100), {})

    assert found.host == "live"
    assert found.settings.startswith("SET search_path = pg_catalog;")


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError("refused"),
        asyncpg.TargetServerAttributeNotMatched("a standby"),
        asyncpg.CannotConnectNowError("starting up"),
    ],
)
async def test_unusable_host_is_skipped(error: Exception) -> None:
    assert await connect_to_primary(hosts(dead=error, live=None), two(), {})


async def test_rejected_login_ends_the_search() -> None:
    wrong = asyncpg.InvalidPasswordError("wrong")

    with pytest.raises(asyncpg.InvalidPasswordError):
        await connect_to_primary(hosts(dead=wrong, live=None), two(), {})


async def test_host_with_another_store_is_skipped() -> None:
    seen = []

    async def check(connection: Any) -> None:
        seen.append(connection)
        if connection.host == "dead":
            raise StoreReplaced("another store")

    found = await connect_to_primary(hosts(dead=None, live=None), two(), {}, check)

    assert found.host == "live"
    assert [each.is_closed for each in seen] == [True, False]
    down = ConnectionRefusedError("refused")
    with pytest.raises(StoreReplaced, match=r"^dead:1: another store; live:2: refused$"):
        await connect_to_primary(hosts(dead=None, live=down), two(), {}, check)


async def test_each_failed_host_is_reported() -> None:
    standby = asyncpg.TargetServerAttributeNotMatched("of asyncpg's own classes")

    with pytest.raises(ConnectionError) as caught:
        await connect_to_primary(hosts(live=standby), two(timeout_ms=100), {})

    told = f"dead:1: no response within 0.05 s; live:2: {READ_ONLY}"
    assert str(caught.value) == told


async def test_failed_attempts_leave_no_cycle() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        store = store_of(f"postgresql://u@127.0.0.1:{port}/d", CONNECT_MS.format(50))
        connect = connector(store)
        with pytest.raises(OSError, match="no response within"):
            await connect()
        with left_in_cycles() as found, suppress(OSError):
            await connect()

    assert [each for each in found if each.__module__.startswith("asyncpg")] == []


@pytest.mark.interop
@pytest.mark.parametrize(
    ("default", "expected"),
    [("off", "on"), ("remote_apply", "remote_apply")],
)
async def test_commits_are_synchronous(database: Database, default: str, expected: str) -> None:
    database.execute(f'ALTER DATABASE "{database.name}" SET synchronous_commit = {default}')

    connection = await connector(store_of(database.url()))()

    assert await connection.fetchval("SHOW synchronous_commit") == expected
    await connection.close()


@pytest.mark.interop
async def test_search_path_is_restricted(database: Database) -> None:
    """One in public that fits better than PostgreSQL's would be run with our rights."""
    await prepared(database)
    database.execute(
        "GRANT CREATE, USAGE ON SCHEMA public TO public;"
        " CREATE FUNCTION public.mine(bigint, bigint) RETURNS bigint LANGUAGE plpgsql"
        " AS $$ BEGIN RAISE EXCEPTION 'run as %', current_user; END $$;"
        " CREATE AGGREGATE public.count(bigint)"
        " (SFUNC = public.mine, STYPE = bigint, INITCOND = '0')"
    )
    connection = await connector(store_of(database.url()))()

    assert await write(connection, adding(1)) == [1]

    await connection.close()
