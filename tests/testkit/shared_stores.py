"""Shared stores: their settings, their tables, and changes written without an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

import asyncpg

from doorkeeper.storage.postgres import migrating, rows
from testkit.settings import settings_of

if TYPE_CHECKING:
    from doorkeeper.config.shared_store import SharedStore
    from doorkeeper.storage.contract import Change
    from testkit.postgres import Database

CLUSTER_ID: Final = "A" * 22
SALT_KEY: Final = b"salt" * 8
NODE_ID: Final = 7


def store_of(url: str, *lines: str) -> SharedStore:
    """Return the store that a configuration with further lines names."""
    found = settings_of("\n".join((f"doorkeeper.store={url}", "node.id=1", *lines))).store
    assert found is not None
    return found


async def prepared(database: Database) -> Database:
    """Make the tables."""
    connection = await asyncpg.connect(database.url())
    try:
        await migrating.prepare(
            connection, cluster_id=lambda: CLUSTER_ID, salt_key=lambda: SALT_KEY
        )
    finally:
        await connection.close()
    return database


async def write(
    connection: asyncpg.Connection, *changes: Change, batch: UUID | None = None
) -> list[int]:
    """Write changes as one commit, each a revision of its own; return the revisions."""
    async with connection.transaction():
        first = await rows.take_pen(connection) + 1
        numbered = list(enumerate(changes, first))
        await rows.write(connection, numbered, node_id=NODE_ID, batch=batch or uuid4())
    return [revision for revision, _ in numbered]
