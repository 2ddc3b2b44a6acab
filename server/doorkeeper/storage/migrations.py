"""Creation of a store, and migration of an older one to the schema version of this code.

A store of an older version is copied first, then converted in one transaction: a crash leaves it
unchanged. A new kind of state needs no migration: see ``schema``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.cluster.uuids import random_uuid
from doorkeeper.kinds.change import NO_CHANGE
from doorkeeper.state.store import StorageError
from doorkeeper.storage import base, digest, old_layout, schema
from doorkeeper.storage.copying import copy_database
from doorkeeper.storage.files import free_name, sync_folder
from doorkeeper.storage.rows import initial_items
from doorkeeper.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import apsw

    from doorkeeper.kinds.change import Change


def check_readable(connection: apsw.Connection, path: Path) -> int:
    """Return the schema version of a store that this code can read or migrate.

    Raises:
        StorageError: it is not a Doorkeeper store, or from a newer version.

    """
    if schema.is_new(connection):
        raise StorageError(f"{path}: the store is empty")
    schema.check_ours(connection, path)
    found = schema.version(connection)
    if found > schema.VERSION:
        raise StorageError(
            f"{path}: the store has schema version {found}, made by a newer Doorkeeper; version"
            f" {__version__} reads schema versions up to {schema.VERSION}"
        )
    return found


def create(
    connection: apsw.Connection,
    *,
    cluster_id: str,
    salt_key: bytes,
    random_bytes: Callable[[int], bytes],
    now_ms: int,
    initial: Change = NO_CHANGE,
    triggers: bool = True,
) -> None:
    """Create the tables of a new store in one transaction, with the rows of ``initial``.

    These rows are of revision 0, before the change log. Without ``triggers`` each table can be
    written directly; the caller creates them afterwards.
    """
    with connection:
        connection.execute(
            schema.META + schema.TABLES + schema.BASE + (schema.TRIGGERS if triggers else "")
        )
        connection.pragma("application_id", schema.APPLICATION_ID)
        for key, value in (
            ("cluster_id", cluster_id),
            ("store_id", random_uuid(random_bytes)),
            ("salt_key", salt_key.hex()),
            ("schema_version", schema.VERSION),
            ("created_by", __version__),
            ("created_ms", now_ms),
        ):
            schema.set_meta(connection, key, value)
        # Not through the change log: the first change of a client is revision 1.
        connection.executemany("INSERT INTO item VALUES (?, ?, ?, ?, 0)", initial_items(initial))
        connection.execute("INSERT INTO base SELECT kind, key, value, revision FROM item")
        schema.set_base(connection, 0, "", now_ms)
        digest.write_anew(connection)


def migrate(
    connection: apsw.Connection, path: Path, now_ms: int, random_bytes: Callable[[int], bytes]
) -> Path | None:
    """Migrate an older store; return the path of its copy, None if it was current.

    Raises:
        StorageError: the store is newer than this code, or the copy failed.

    """
    found = check_readable(connection, path)
    if found == schema.VERSION:
        return None
    copy = free_name(path, f"v{found}-backup", now_ms)
    copy_database(connection, copy)
    sync_folder(path.parent)
    connection.execute("BEGIN IMMEDIATE")
    try:
        if found < schema.ONE_LAYOUT:
            old_layout.convert(connection)
        if found < schema.WITH_BASE:
            base.add_to_older_store(connection, found, now_ms)
        if found >= schema.ONE_LAYOUT:
            connection.execute("ALTER TABLE change_log ADD COLUMN digest TEXT")
        digest.write_if_logged(connection)
        # Early stores have no salt key.
        if not schema.has_meta(connection, "salt_key"):
            schema.set_meta(connection, "salt_key", random_bytes(32).hex())
        # Nor have those before schema version 4 a store id.
        if not schema.has_meta(connection, "store_id"):
            schema.set_meta(connection, "store_id", random_uuid(random_bytes))
        schema.set_meta(connection, "schema_version", schema.VERSION)
        connection.execute("COMMIT")
    except BaseException:
        # SQLite rolls back by itself after some errors, such as a full disk.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return copy
