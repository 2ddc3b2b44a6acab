"""The tables of the shared store, and which versions of Doorkeeper may use them.

All lie in the schema ``doorkeeper`` of the database; ``migrations/versions`` makes them. As in the
embedded store, ``change_log`` is what is written: a trigger for each statement carries its rows
into the other tables, moves ``head`` and rings the bell. It refuses revisions that do not follow
the head, so that nobody can leave a gap, with or without the lock.

    head         one row: the newest revision. Who writes locks it: ``SELECT ... FOR UPDATE``
    change_log   as in the embedded store, and node_id, and batch: a random id of one commit, by
                 which a writer recognises it whose answer was lost. Times are the database's
    acl, topic, config, credential, token
                 the state at the head
    node         one row for each node that lives: see ``nodes``
    meta         cluster_id, salt_key, schema_version, min_reader, min_writer

A credential's salt and keys pass through the log and do not stay there.

Two versions of Doorkeeper that follow each other run on one schema. A migration first only adds
(*expand*): columns with defaults, tables, triggers that also serve who does not know them. It
raises ``schema_version`` alone. What the older version needs goes in the migration after that
(*contract*), which raises ``min_reader`` or ``min_writer`` to the oldest version that still works.

    schema_version 2, min_reader 1, min_writer 1     nodes of 1 and 2 run together
    schema_version 3, min_reader 2, min_writer 2     nodes of 2 and 3 run together; 1 is refused
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.storage.contract import StorageError
from doorkeeper.version import __version__

if TYPE_CHECKING:
    import asyncpg

SCHEMA: Final = "doorkeeper"

CHANNEL: Final = "doorkeeper"
"""Where the trigger notifies; the payload is the newest revision."""

ENCODING: Final = "UTF8"
"""In another one names that clients may choose cannot be written."""

VERSION: Final = 1
"""The schema version that this code is written for."""

_HAS_META: Final = (
    "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_tables"
    " WHERE schemaname = 'doorkeeper' AND tablename = 'meta')"
)
"""It reads the catalog. ``to_regclass`` may remember that there was nothing a moment ago."""


class SchemaState(NamedTuple):
    """What a database says of its schema."""

    version: int
    min_reader: int
    min_writer: int


async def schema_state(connection: asyncpg.Connection) -> SchemaState | None:
    """Return what the database says; None where there is nothing of ours yet.

    Raises:
        StorageError: the schema is there, but not as we make it; or the database cannot hold what
            clients may name.

    """
    encoding = connection.get_settings().server_encoding
    if encoding != ENCODING:
        raise StorageError(f"the database has the encoding {encoding}; allowed: {ENCODING}")
    if not await connection.fetchval(_HAS_META):
        return None
    values = await meta(connection)
    try:
        return SchemaState(
            int(values["schema_version"]), int(values["min_reader"]), int(values["min_writer"])
        )
    except (KeyError, ValueError) as error:
        raise StorageError(f"the store is damaged: meta has no {error}") from error


def check_usable(state: SchemaState, *, version: int = VERSION) -> None:
    """Refuse a schema that this code cannot read and write.

    Raises:
        StorageError: it must be migrated first, or is from a version that is too new.

    """
    if state.version < version:
        raise StorageError(
            f"the store has schema version {state.version}; Doorkeeper {__version__} needs"
            f" {version}: run doorkeeper store migrate"
        )
    if max(state.min_reader, state.min_writer) > version:
        raise StorageError(
            f"the store has schema version {state.version}, which asks for a Doorkeeper of schema"
            f" version {max(state.min_reader, state.min_writer)} or later; {__version__} knows"
            f" {version}"
        )


async def meta(connection: asyncpg.Connection) -> dict[str, str]:
    """Return all values of ``meta``; ``salt_key`` is a secret."""
    return dict(await connection.fetch("SELECT key, value FROM doorkeeper.meta"))


class Identity(NamedTuple):
    """What a store is: the cluster's id, and 32 secret bytes."""

    cluster_id: str
    salt_key: bytes


async def identity(connection: asyncpg.Connection) -> Identity:
    """Return what a store is.

    Raises:
        StorageError: it does not say so.

    """
    values = await meta(connection)
    try:
        return Identity(values["cluster_id"], bytes.fromhex(values["salt_key"]))
    except KeyError as error:
        raise StorageError(f"the store is damaged: meta has no {error}") from error
    except ValueError:
        # Without its cause: that quotes it in parts.
        raise StorageError("the store is damaged: its salt_key is not hexadecimal") from None


async def set_meta(connection: asyncpg.Connection, key: str, value: str) -> None:
    """Write one value of ``meta``."""
    await connection.execute(
        "INSERT INTO doorkeeper.meta VALUES ($1, $2)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        key,
        value,
    )
