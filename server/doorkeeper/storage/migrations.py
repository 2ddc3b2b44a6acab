"""From one schema version to the next, and the making of a new store.

A new store is the tables of version 1 and then every migration, so that old and new stores cannot
differ. A store of an older version is copied beside itself first; then all migrations that it
lacks run in one transaction: a crash in the middle leaves it as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.storage import schema
from doorkeeper.storage.contract import StorageError
from doorkeeper.storage.copying import copy_database
from doorkeeper.storage.files import stamped, sync_folder
from doorkeeper.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    import apsw


class Migration(NamedTuple):
    """A step to the schema ``version`` from the one before. ``apply`` runs in a transaction."""

    version: int
    apply: Callable[[apsw.Connection], None]


def _dynamic_values(connection: apsw.Connection) -> None:
    connection.execute(schema.VERSION_2)


def _credentials_and_tokens(connection: apsw.Connection) -> None:
    connection.execute(schema.VERSION_3)


MIGRATIONS: tuple[Migration, ...] = (
    Migration(2, _dynamic_values),
    Migration(3, _credentials_and_tokens),
)
"""In order of their versions, from 2 on, without a gap."""


def newest_version(migrations: tuple[Migration, ...] = MIGRATIONS) -> int:
    """Return the schema version that this code reads and writes."""
    return migrations[-1].version if migrations else schema.FIRST_VERSION


def check_readable(
    connection: apsw.Connection, path: Path, migrations: tuple[Migration, ...] = MIGRATIONS
) -> int:
    """Return the schema version of a store that this code can read or migrate.

    Raises:
        StorageError: it is no store of ours, or from a newer version.

    """
    if schema.is_new(connection):
        raise StorageError(f"{path}: the store is empty")
    schema.check_ours(connection, path)
    found, newest = schema.version(connection), newest_version(migrations)
    if found > newest:
        raise StorageError(
            f"{path}: the store has schema version {found}, made by a newer Doorkeeper; version"
            f" {__version__} reads schema versions up to {newest}"
        )
    return found


def create(
    connection: apsw.Connection,
    *,
    cluster_id: str,
    now_ms: int,
    migrations: tuple[Migration, ...] = MIGRATIONS,
) -> None:
    """Make the tables of a new store, in one transaction."""
    with connection:
        connection.execute(schema.TABLES)
        connection.pragma("application_id", schema.APPLICATION_ID)
        for key, value in (
            ("cluster_id", cluster_id),
            ("created_by", __version__),
            ("created_ms", now_ms),
        ):
            schema.set_meta(connection, key, value)
        _apply(connection, migrations, schema.FIRST_VERSION)


def migrate(
    connection: apsw.Connection,
    path: Path,
    *,
    now_ms: int,
    migrations: tuple[Migration, ...] = MIGRATIONS,
) -> Path | None:
    """Bring an older store up to date; return where its copy lies, None if nothing was to do.

    Raises:
        StorageError: the store is newer than this code, or the copy failed.

    """
    found = check_readable(connection, path, migrations)
    if found == newest_version(migrations):
        return None
    copy = stamped(path, f"v{found}-backup", now_ms)
    copy_database(connection, copy)
    sync_folder(path.parent)
    connection.execute("BEGIN IMMEDIATE")
    try:
        _apply(connection, migrations, found)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return copy


def _apply(connection: apsw.Connection, migrations: tuple[Migration, ...], found: int) -> None:
    for migration in migrations:
        if migration.version > found:
            migration.apply(connection)
    schema.set_meta(connection, "schema_version", newest_version(migrations))
