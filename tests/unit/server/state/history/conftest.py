"""Stores with a past: embedded, and with PostgreSQL a shared copy of it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.storage.portable_embedded import reading
from testkit.portables import CHANGES
from testkit.stores import NOW_MS, append, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from doorkeeper.server.state.storage.portable import Portable


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def database(data_dir: Path) -> Iterator[apsw.Connection]:
    """A store with the changes of ``CHANGES``, a minute apart; open for further ones."""
    open_store(data_dir).close()
    connection = apsw.Connection(str(data_dir / DATABASE_NAME))
    for revision, change in enumerate(CHANGES, 1):
        append(connection, change, revision, NOW_MS + revision * 60_000)
    yield connection
    connection.close()


@pytest.fixture
async def store(database: apsw.Connection, data_dir: Path) -> AsyncIterator[Portable]:
    assert database.filename
    async with opened(data_dir) as portable:
        yield portable


@asynccontextmanager
async def opened(data_dir: Path) -> AsyncIterator[Portable]:
    async with reading(data_dir, alone=False) as portable:
        yield portable
