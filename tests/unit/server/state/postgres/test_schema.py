"""Versions of the schema: which ones this code may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.state.postgres.schema import (
    SchemaState,
    check_usable,
    identity,
    schema_state,
)
from doorkeeper.server.state.store import StorageError

if TYPE_CHECKING:
    import asyncpg


def test_next_schema_version_is_compatible() -> None:
    check_usable(SchemaState(2, 1, 1))


@pytest.mark.parametrize(
    "state", [SchemaState(3, 1, 3), SchemaState(3, 3, 1)], ids=["writers", "readers"]
)
def test_incompatible_schema_version_is_rejected(state: SchemaState) -> None:
    with pytest.raises(StorageError, match="requires a Doorkeeper with schema version 3 or later"):
        check_usable(state)


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
        await schema_state(connection)
        await identity(connection)

    with pytest.raises(StorageError, match=f"the store is damaged: .*{text}"):
        await read()
