"""Shared stores: their settings, their tables, and changes written without a state log."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

import asyncpg

from doorkeeper.server.schema.change import Author
from doorkeeper.server.state.postgres import rows, schema
from doorkeeper.server.state.store import LogEntry
from testkit.settings import settings_of

if TYPE_CHECKING:
    from doorkeeper.server.config.shared_store import SharedStore
    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.state.store import StoredState
    from testkit.postgres import Database

NODE_ID: Final = 7
AUTHOR: Final = Author("User:admin", "192.0.2.7", "PLAINTEXT", "adminclient-1")


def store_of(url: str, *lines: str) -> SharedStore:
    """Return the store that a configuration with further lines names."""
    found = settings_of("\n".join((f"doorkeeper.store={url}", "node.id=1", *lines))).store
    assert found is not None
    return found


async def prepared(database: Database) -> Database:
    """Create the tables."""
    connection = await asyncpg.connect(database.url())
    try:
        await schema.prepare(connection, os.urandom)
    finally:
        await connection.close()
    return database


async def write(
    connection: asyncpg.Connection,
    *changes: Change,
    batch: UUID | None = None,
    author: Author = AUTHOR,
) -> list[int]:
    """Write changes as one commit, each a revision of its own; return the revisions."""
    async with connection.transaction():
        first = await rows.take_lease(connection) + 1
        entries = [LogEntry(number, author, change) for number, change in enumerate(changes, first)]
        await rows.write(connection, entries, node_id=NODE_ID, batch=batch or uuid4())
    return [entry.revision for entry in entries]


async def read_state(connection: asyncpg.Connection) -> StoredState:
    """Read everything as of one moment."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        return await rows.read_items(connection)
