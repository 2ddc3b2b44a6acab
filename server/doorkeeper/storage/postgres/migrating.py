"""Making the schema, and bringing an older one up to date.

alembic keeps the order of the migrations and turns them into SQL; it never connects. The SQL runs
in one transaction over the connection that everything else uses, so what ``--dry-run`` prints is
what would run, and a migration that fails leaves nothing. It is imported here only: the server
needs it for a new, empty database, and not again.
"""

from __future__ import annotations

import logging
import os
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.storage.contract import StorageError
from doorkeeper.storage.postgres.connecting import INSTALL
from doorkeeper.storage.postgres.schema import (
    SCHEMA,
    VERSION,
    check_usable,
    schema_state,
    set_meta,
)
from doorkeeper.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    import asyncpg

_LOCK: Final = 0x446F6F72
"""``Door``: the key of the advisory lock that whoever migrates holds."""

_HAS_SCHEMA: Final = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1)"
_MAKE_SCHEMA: Final = f"CREATE SCHEMA {SCHEMA}"


class Migrated(NamedTuple):
    """What was done: from which schema version (0: there was none) to which, by which SQL."""

    before: int
    after: int
    statements: str


def sql_between(
    before: int, after: int, versions: tuple[Path, ...] = (), *, new_schema: bool = True
) -> str:
    """Return the SQL from one schema version to another; from 0 for an empty database.

    ``versions`` are folders with more migrations than ours. ``new_schema`` says whether the first
    one makes the schema ``doorkeeper`` too.

    Raises:
        StorageError: alembic is not installed.

    """
    # It tells of each of its own plug-ins, from its import on.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    try:
        from alembic import command  # noqa: PLC0415 - takes half a second, and is needed once
        from alembic.config import Config  # noqa: PLC0415
    except ImportError as error:
        raise StorageError(
            f"the tables of a shared store are made by the extra postgres: {INSTALL}"
            f" ({error.name or error} is missing)"
        ) from error

    if before == after:
        return ""
    written = StringIO()
    here = Path(str(files("doorkeeper.storage.postgres"))) / "migrations"
    config = Config(output_buffer=written, stdout=StringIO())
    config.set_main_option("script_location", _escaped(here))
    config.set_main_option("path_separator", "os")
    locations = (here / "versions", *versions)
    config.set_main_option("version_locations", os.pathsep.join(map(_escaped, locations)))
    span = f"{after:04}" if before == 0 else f"{before:04}:{after:04}"
    command.upgrade(config, span, sql=True)
    makes_schema = before == 0 and new_schema
    return (f"{_MAKE_SCHEMA};\n\n" if makes_schema else "") + written.getvalue()


def _escaped(path: Path) -> str:
    """Return a path as a value in alembic's configuration, where % begins a name."""
    return str(path).replace("%", "%%")


async def planned(
    connection: asyncpg.Connection, *, version: int = VERSION, versions: tuple[Path, ...] = ()
) -> Migrated:
    """Return what ``migrate`` would do.

    Raises:
        StorageError: the schema is newer than this code, or damaged.

    """
    state = await schema_state(connection)
    before = 0 if state is None else state.version
    if before > version:
        raise StorageError(
            f"the store has schema version {before}, made by a newer Doorkeeper; {__version__}"
            f" migrates to schema version {version}"
        )
    has_schema = await connection.fetchval(_HAS_SCHEMA, SCHEMA)
    return Migrated(
        before, version, sql_between(before, version, versions, new_schema=not has_schema)
    )


async def migrate(
    connection: asyncpg.Connection,
    *,
    cluster_id: Callable[[], str],
    salt_key: Callable[[], bytes],
    version: int = VERSION,
    versions: tuple[Path, ...] = (),
) -> Migrated:
    """Make the schema, or bring it up to date, in one transaction; of two at once one waits.

    A new store gets a cluster id and a salt key.

    Raises:
        StorageError: the schema is newer than this code, or damaged.

    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        done = await planned(connection, version=version, versions=versions)
        if done.statements:
            await connection.execute(done.statements)
        if done.before == 0:
            await set_meta(connection, "cluster_id", cluster_id())
            await set_meta(connection, "salt_key", salt_key().hex())
            await set_meta(connection, "created_by", __version__)
    return done


async def prepare(
    connection: asyncpg.Connection,
    *,
    cluster_id: Callable[[], str],
    salt_key: Callable[[], bytes],
) -> None:
    """Make the schema in an empty database; check the one that is there.

    Raises:
        StorageError: it must be migrated first, or is too new, or damaged.

    """
    state = await schema_state(connection)
    if state is None:
        await migrate(connection, cluster_id=cluster_id, salt_key=salt_key)
        state = await schema_state(connection)
        assert state is not None
    check_usable(state)
