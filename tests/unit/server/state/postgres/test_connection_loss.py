"""What it looks like when the database is lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import asyncpg
import pytest

from doorkeeper.server.state.postgres.connecting import close_connection
from testkit.edge import PATIENCE_S
from testkit.tcp_proxy import TcpProxy

if TYPE_CHECKING:
    from testkit.postgres import Database


@pytest.mark.interop
async def test_dead_connection_is_aborted(database: Database) -> None:
    with TcpProxy(database.server.port) as proxy:
        connection = await asyncpg.connect(database.url(port=proxy.port))
        proxy.black_hole()
        with pytest.raises(TimeoutError):
            await connection.fetchval("SELECT 1", timeout=0.05)

        async with asyncio.timeout(PATIENCE_S):
            await close_connection(connection)

        assert connection.is_closed()
