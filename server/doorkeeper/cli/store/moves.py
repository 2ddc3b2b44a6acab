"""The commands ``doorkeeper store check``, ``copy``, ``create`` and ``accept``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from doorkeeper.server.app.stores import (
    DataFolder,
    identity_file_of,
    initial_rows,
    location_of,
    open_for_reading,
)
from doorkeeper.server.state.history.verification import verify
from doorkeeper.server.state.storage import checking
from doorkeeper.server.state.storage.identity import (
    ExpectedStore,
    read_expected_store,
    replace_identity_file,
)
from doorkeeper.server.state.storage.portable import LOG
from doorkeeper.server.state.storage.transfer import Reader, compare
from doorkeeper.server.state.store import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from doorkeeper.server.app.stores import StoreLocation
    from doorkeeper.server.config.settings import Settings
    from doorkeeper.server.config.shared_store import SharedStore
    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.state.storage.portable import Header
    from doorkeeper.server.state.storage.transfer import Progress


async def check(location: StoreLocation) -> tuple[Header, list[str]]:
    """Return the header and the faults of a store; servers may be using it.

    Raises:
        StorageError: there is none, or it cannot be read.
    """
    async with open_for_reading(location, alone=False) as store:
        findings = await checking.findings(store)
        # The chain covers what the state does not depend on: authors and times.
        findings += [f"{LOG}: {finding}" for finding in (await verify(store)).findings]
        return await store.header(), findings


async def copy(
    source: StoreLocation,
    target: StoreLocation,
    *,
    overwrite: bool,
    now_ms: int,
    progress: Callable[[str], Progress | None],
) -> tuple[Header, str | None]:
    """Copy a store and compare both; return the header, and the target's previous store.

    ``progress`` returns the progress function of a step, ``copy`` or ``compare``.

    Raises:
        StorageError: one of them is in use or cannot be used; the target is not empty; the source
            was changed meanwhile; the copy differs.
    """
    if _same(source, target):
        raise StorageError(f"{target.display_name}: source and target are the same store")
    aside = None
    async with open_for_reading(source, alone=True) as store:
        header = await store.header()
        reader = Reader(store, sum(header.rows.values()), progress("copy"))
        if isinstance(target, DataFolder):
            from doorkeeper.server.state.storage import portable_embedded

            aside = await portable_embedded.write(
                target.path,
                header,
                reader.rows,
                now_ms=now_ms,
                overwrite=overwrite,
                identity_file=target.identity_file,
            )
        else:
            from doorkeeper.server.state.postgres import portable
            from doorkeeper.server.state.postgres.connecting import connection_to

            async with connection_to(target) as connection:
                await portable.write(
                    connection, target.display_name, header, reader.rows, overwrite=overwrite
                )
    async with open_for_reading(target, alone=False) as copied:
        await compare(source.display_name, reader.sums, header, copied, progress("compare"))
    # A server may have started on the source during the copy.
    async with open_for_reading(source, alone=True) as store:
        if (await store.header()).revision != header.revision:
            raise StorageError(f"{source.display_name}: the store was changed while it was copied")
    return header, aside


def _same(source: StoreLocation, target: StoreLocation) -> bool:
    if isinstance(source, DataFolder) and isinstance(target, DataFolder):
        return source.path.resolve() == target.path.resolve()
    return source.display_name == target.display_name


async def create(settings: Settings, *, new: bool, now_ms: Callable[[], int]) -> Path | None:
    """Create the configured store; return the path of the previous one, None without one.

    ``new`` creates an empty cluster although there was a store: an embedded one is kept beside the
    new one, a shared database must be empty.

    Raises:
        StorageError: there is a store without ``new``, or it is in use.
    """
    location, identity_file = location_of(settings), identity_file_of(settings)
    if not new:
        # The identity file remembers a store whose database is lost.
        expected = read_expected_store(identity_file)
        if expected is not None or (isinstance(location, DataFolder) and _is_there(location)):
            raise StorageError(
                f"{location.display_name}: found a store, or traces of one"
                + ("" if expected is None else f" ({identity_file}: {expected})")
                + "; --overwrite replaces it with an empty one"
            )
    if not isinstance(location, DataFolder):
        await _create_tables(location, initial_rows(settings))
        replace_identity_file(identity_file, None)
        return None
    from doorkeeper.server.state.storage.backup import set_store_aside
    from doorkeeper.server.state.storage.sqlite import SqliteStore

    aside = set_store_aside(*location, now_ms=now_ms()) if new else None
    SqliteStore(
        location.path,
        now_ms=now_ms,
        random_bytes=os.urandom,
        identity_file=location.identity_file,
        initial=initial_rows(settings),
    ).close()
    return aside


async def _create_tables(shared: SharedStore, initial: Change) -> None:
    from doorkeeper.server.state.postgres import schema
    from doorkeeper.server.state.postgres.connecting import connection_to

    async with connection_to(shared) as connection:
        try:
            is_created = await schema.prepare(connection, os.urandom, initial)
        except StorageError as error:
            raise StorageError(f"{shared.display_name}: {error}") from error
    if not is_created:
        raise StorageError(
            f"{shared.display_name}: the database has a store; expected: an empty database"
        )


def _is_there(location: DataFolder) -> bool:
    from doorkeeper.server.state.storage.files import DATABASE_NAME

    path = location.path / DATABASE_NAME
    return path.is_file() and path.stat().st_size > 0


async def accept(settings: Settings) -> ExpectedStore:
    """Write the identity file for the current store; return its content.

    Raises:
        StorageError: there is no store, a server uses it, or it cannot be reached.
    """
    location, identity_file = location_of(settings), identity_file_of(settings)
    if isinstance(location, DataFolder):
        if not _is_there(location):
            raise StorageError(f"{location.display_name}: found no store")
        from doorkeeper.server.state.storage.backup import accept_store

        return accept_store(*location)
    from doorkeeper.server.state.postgres import digest
    from doorkeeper.server.state.postgres.connecting import connection_to

    async with open_for_reading(location, alone=False) as store:
        header = await store.header()
    expected = ExpectedStore(header.cluster_id, header.store_id, header.revision)
    # The rows last: a node that could not write its file has accepted nothing.
    replace_identity_file(identity_file, expected)
    async with connection_to(location) as connection:
        await digest.write_anew(connection)
    return expected
