"""A connection to a database that has the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg
import pytest

from testkit.shared_stores import prepared

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from testkit.postgres import Database


@pytest.fixture
async def connection(database: Database) -> AsyncIterator[asyncpg.Connection]:
    await prepared(database)
    opened = await asyncpg.connect(database.url())
    yield opened
    await opened.close()
