"""Leases of names, of which one node of a shared store holds each."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import asyncpg
import pytest

from doorkeeper.server.state.postgres.named_leases import NamedLeases
from testkit.load import scaled
from testkit.shared_stores import prepared

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from testkit.postgres import Database

pytestmark = pytest.mark.interop


@asynccontextmanager
async def leases_of(database: Database, timeout_s: float = 60) -> AsyncIterator[NamedLeases]:
    """Yield the leases of a node."""

    async def connect() -> asyncpg.Connection:
        return await asyncpg.connect(database.url())

    found = NamedLeases(connect, timeout_s)
    yield found
    found._lose()


async def test_lease_has_one_holder(database: Database) -> None:
    await prepared(database)
    async with leases_of(database) as one, leases_of(database) as two:
        assert await one.keep("cluster a")
        assert not await two.keep("cluster a")
        assert await two.keep("cluster b")
        await one.release("cluster a")
        assert await two.keep("cluster a")
        assert not await one.keep("cluster a")


async def test_frozen_node_loses_its_lease(database: Database) -> None:
    await prepared(database)
    async with leases_of(database, 0.4) as one, leases_of(database) as two:
        assert await one.keep("cluster a")
        assert one._living is not None
        one._living.cancel()
        async with asyncio.timeout(scaled(20)):
            while not await two.keep("cluster a"):
                await asyncio.sleep(0.01)

        assert not await one.keep("cluster a")


async def test_active_node_keeps_its_lease(database: Database) -> None:
    await prepared(database)
    async with leases_of(database, 0.2) as one, leases_of(database) as two:
        assert await one.keep("cluster a")
        await asyncio.sleep(0.6)

        assert not await two.keep("cluster a")
        assert await one.keep("cluster a")
