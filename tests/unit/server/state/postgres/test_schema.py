"""Versions of the schema: which ones this code may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.state.postgres.schema import has_store, identity
from doorkeeper.server.state.store import StorageError

if TYPE_CHECKING:
    import asyncpg


class Versions:
    """A database with a store of these versions."""

    server_encoding = "UTF8"

    def __init__(self, version: int, min_reader: int, min_writer: int) -> None:
        self._versions = version, min_reader, min_writer

    def get_settings(self) -> Versions:
        return self

    async def fetchval(self, _query: str) -> bool:
        return True

    async def fetch(self, _query: str) -> list[tuple[str, str]]:
        keys = ("schema_version", "min_reader", "min_writer")
        return [(key, str(number)) for key, number in zip(keys, self._versions, strict=True)]


async def test_next_schema_version_is_compatible() -> None:
    assert await has_store(Versions(2, 1, 1))


@pytest.mark.parametrize("versions", [(3, 1, 3), (3, 3, 1)], ids=["writers", "readers"])
async def test_incompatible_schema_version_is_rejected(versions: tuple[int, int, int]) -> None:
    with pytest.raises(StorageError, match="requires a Doorkeeper with schema version 3 or later"):
        await has_store(Versions(*versions))


@pytest.mark.interop
@pytest.mark.parametrize(
    ("damage", "text"),
    [
        ("DELETE FROM doorkeeper.meta WHERE key = 'min_writer'", "meta has no"),
        ("UPDATE doorkeeper.meta SET value = 'x' WHERE key = 'schema_version'", "meta has no"),
        ("DELETE FROM doorkeeper.meta WHERE key = 'cluster_id'", "meta has no 'cluster_id'"),
        ("DELETE FROM doorkeeper.meta WHERE key = 'store_id'", "meta has no 'store_id'"),
        ("UPDATE doorkeeper.meta SET value = 'x' WHERE key = 'salt_key'", "is not hexadecimal"),
    ],
)
async def test_damaged_meta_is_an_error(
    connection: asyncpg.Connection, damage: str, text: str
) -> None:
    await connection.execute(damage)

    async def read() -> None:
        await has_store(connection)
        await identity(connection)

    with pytest.raises(StorageError, match=f"the store is damaged: .*{text}"):
        await read()
