"""Creation of the schema, and migration of an older one.

A migration is SQL only, in one transaction under an advisory lock: ``--dry-run`` prints exactly
that SQL, and a failed migration changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.cluster.uuids import random_uuid
from doorkeeper.kinds.change import NO_CHANGE
from doorkeeper.state.store import StorageError
from doorkeeper.storage.cells import encode
from doorkeeper.storage.postgres import digest, history
from doorkeeper.storage.postgres.membership import live_before
from doorkeeper.storage.postgres.schema import (
    OLDEST_USER,
    SCHEMA,
    TABLES_2,
    VERSION,
    check_usable,
    meta,
    schema_state,
    set_meta,
)
from doorkeeper.storage.postgres.version_1 import CONTRACT, EXPAND
from doorkeeper.storage.rows import initial_items
from doorkeeper.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import asyncpg

    from doorkeeper.kinds.change import Change

STEPS: Final[Mapping[int, str]] = {2: EXPAND, 3: history.EXPAND, 4: digest.EXPAND}
"""The SQL that leads to each schema version from the one before."""

_LOCK: Final = 0x446F6F72
"""``Door``: the key of the advisory lock for migrations."""

_INITIAL: Final = """
WITH initial AS (
    INSERT INTO doorkeeper.item VALUES ($1, $2, $3, $4, 0) RETURNING kind, key, value, revision
) INSERT INTO doorkeeper.base SELECT * FROM initial
"""

_HAS_SCHEMA: Final = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1)"


class Migration(NamedTuple):
    """A migration: its schema versions (``before`` is 0 without a schema) and its SQL."""

    before: int
    after: int
    statements: str


def sql_between(before: int, after: int, steps: Mapping[int, str] = STEPS) -> str:
    """Return the SQL from one schema version to another; none leads to version 1."""
    if before == after:
        return ""
    done = f"UPDATE doorkeeper.meta SET value = '{after}' WHERE key = 'schema_version';\n"  # noqa: S608 - a number of ours
    return "".join([steps[version] for version in range(before + 1, after + 1)]) + done


async def plan_migration(
    connection: asyncpg.Connection, *, version: int = VERSION, steps: Mapping[int, str] = STEPS
) -> Migration:
    """Return the migration that ``migrate`` would run.

    Raises:
        StorageError: the schema is newer than this code, or damaged.

    """
    state = await schema_state(connection)
    if state is None:
        has_schema = await connection.fetchval(_HAS_SCHEMA, SCHEMA)
        create = "" if has_schema else f"CREATE SCHEMA {SCHEMA};\n"
        return Migration(0, VERSION, create + TABLES_2 + sql_between(2, VERSION))
    if state.version > version:
        raise StorageError(
            f"the store has schema version {state.version}, made by a newer Doorkeeper;"
            f" {__version__} migrates to schema version {version}"
        )
    return Migration(state.version, version, sql_between(state.version, version, steps))


async def migrate(
    connection: asyncpg.Connection,
    random_bytes: Callable[[int], bytes],
    initial: Change = NO_CHANGE,
    *,
    version: int = VERSION,
    steps: Mapping[int, str] = STEPS,
) -> Migration:
    """Create or migrate the schema in one transaction; concurrent calls wait for each other.

    A new store gets a cluster id, a store id, a salt key, and ``initial``, rows of revision 0.

    Raises:
        StorageError: the schema is newer than this code, or damaged.

    """
    async with connection.transaction():
        # Released at the end of the transaction.
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        done = await plan_migration(connection, version=version, steps=steps)
        if done.statements:
            await connection.execute(done.statements, timeout=MIGRATION_S)
        if done.before == 0:
            await set_meta(connection, "cluster_id", random_uuid(random_bytes))
            await set_meta(connection, "salt_key", random_bytes(32).hex())
            await set_meta(connection, "created_by", __version__)
            # Not through the log: the first change of a client is revision 1.
            for kind, key, value, secret in initial_items(initial):
                await connection.execute(_INITIAL, kind, encode(key), value, secret)
            await digest.write_anew(connection)
        # Version 1 had no store id.
        if "store_id" not in await meta(connection):
            await set_meta(connection, "store_id", random_uuid(random_bytes))
    return done


MIGRATION_S: Final = 3_600.0
"""Time-out of the statements of a migration; those of a server have seconds."""


async def prepare(
    connection: asyncpg.Connection,
    random_bytes: Callable[[int], bytes],
    initial: Change = NO_CHANGE,
    *,
    create: bool = True,
) -> bool:
    """Create the schema in an empty database if allowed, or check the existing one.

    Return whether it was created.

    Raises:
        StorageError: there is none, or it must be migrated first, is too new, or damaged.

    """
    state = await schema_state(connection)
    if state is None:
        if not create:
            raise StorageError(
                "there is no store in this database; create it with doorkeeper store create"
            )
        return (await migrate(connection, random_bytes, initial)).before == 0
    check_usable(state)
    return False


async def finish(connection: asyncpg.Connection) -> bool:
    """Remove the compatibility with the previous version; return whether there was any.

    Raises:
        StorageError: nodes of that version are live, or the schema is not of this version.

    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        state = await schema_state(connection)
        if state is None:
            raise StorageError("there is no store in this database")
        check_usable(state)
        if state.min_reader >= OLDEST_USER:
            return False
        older = await live_before(connection, OLDEST_USER)
        if older:
            ids = ", ".join(map(str, older))
            raise StorageError(f"the nodes {ids} are of an older version: upgrade or stop them")
        await connection.execute(CONTRACT, timeout=MIGRATION_S)
        for key in ("min_reader", "min_writer"):
            await set_meta(connection, key, str(OLDEST_USER))
    return True
