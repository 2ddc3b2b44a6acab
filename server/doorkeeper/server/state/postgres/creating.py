"""Creation of the tables of a shared store: by the first node, or ``doorkeeper store create``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import asyncpg

from doorkeeper.base.uuids import random_uuid
from doorkeeper.base.version import __version__
from doorkeeper.server.schema.change import NO_CHANGE, Change
from doorkeeper.server.state.postgres import digest
from doorkeeper.server.state.postgres.schema import (
    SCHEMA,
    TABLES,
    check_usable,
    schema_state,
    set_meta,
)
from doorkeeper.server.state.postgres.triggers import TRIGGERS
from doorkeeper.server.state.storage.cells import encode
from doorkeeper.server.state.storage.rows import initial_items
from doorkeeper.server.state.store import StorageError

_LOCK: Final = 0x446F6F72
"""``Door``: the key of the advisory lock for the creation."""

_INITIAL: Final = """
WITH initial AS (
    INSERT INTO doorkeeper.item VALUES ($1, $2, $3, $4, 0) RETURNING kind, key, value, revision
) INSERT INTO doorkeeper.base SELECT * FROM initial
"""

_HAS_SCHEMA: Final = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1)"


async def prepare(
    connection: asyncpg.Connection,
    random_bytes: Callable[[int], bytes],
    initial: Change = NO_CHANGE,
    *,
    create: bool = True,
) -> bool:
    """Create the tables in an empty database if allowed, or check the existing ones.

    Return whether they were created: in one transaction, for which concurrent calls wait. A new
    store gets a cluster id, a store id, a salt key, and ``initial``, rows of revision 0.
    """
    if await _is_usable(connection):
        return False
    if not create:
        raise StorageError(
            "found no store in this database; create it with doorkeeper store create"
        )
    async with connection.transaction():
        # Released at the end of the transaction.
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        if await _is_usable(connection):
            return False
        if not await connection.fetchval(_HAS_SCHEMA, SCHEMA):
            await connection.execute(f"CREATE SCHEMA {SCHEMA}")
        await connection.execute(TABLES + TRIGGERS)
        await set_meta(connection, "cluster_id", random_uuid(random_bytes))
        await set_meta(connection, "store_id", random_uuid(random_bytes))
        await set_meta(connection, "salt_key", random_bytes(32).hex())
        await set_meta(connection, "created_by", __version__)
        # Not through the log: the first change of a client is revision 1.
        for kind, key, value, secret in initial_items(initial):
            await connection.execute(_INITIAL, kind, encode(key), value, secret)
        await digest.write_anew(connection)
    return True


async def _is_usable(connection: asyncpg.Connection) -> bool:
    """Return whether there is a store; reject one that this code cannot use."""
    state = await schema_state(connection)
    if state is None:
        return False
    check_usable(state)
    return True
