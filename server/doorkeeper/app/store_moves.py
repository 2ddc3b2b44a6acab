"""What ``doorkeeper store migrate``, ``check`` and ``copy`` do."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.app.store_places import reading, shown
from doorkeeper.storage import checking
from doorkeeper.storage.cluster_id import random_uuid
from doorkeeper.storage.contract import StorageError
from doorkeeper.storage.transfer import Reader, compare

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.app.store_places import Place
    from doorkeeper.storage.portable import Header
    from doorkeeper.storage.transfer import Progress


class Migrated(NamedTuple):
    """From which schema version to which, 0 being none; and the SQL of a shared store."""

    before: int
    after: int
    statements: str = ""


async def migrate(place: Place, *, now_ms: Callable[[], int], dry_run: bool) -> Migrated:
    """Make or update the tables of a store; ``dry_run`` only says what would be done.

    Raises:
        StorageError: it cannot be reached, is newer than this code, or a server uses it.

    """
    if isinstance(place, Path):
        return _migrate_embedded(place, now_ms, dry_run=dry_run)
    from doorkeeper.storage.postgres import migrating  # noqa: PLC0415 - the extra postgres
    from doorkeeper.storage.postgres.connecting import connected  # noqa: PLC0415

    async with connected(place) as connection:
        try:
            if dry_run:
                return Migrated(*await migrating.planned(connection))
            return Migrated(
                *await migrating.migrate(
                    connection,
                    cluster_id=lambda: random_uuid(os.urandom),
                    salt_key=lambda: os.urandom(32),
                )
            )
        except StorageError as error:
            raise StorageError(f"{place.shown}: {error}") from error


def _migrate_embedded(data_dir: Path, now_ms: Callable[[], int], *, dry_run: bool) -> Migrated:
    """Open the store, which migrates it."""
    from doorkeeper.storage.database import connect_readonly  # noqa: PLC0415 - SQLite, if it is one
    from doorkeeper.storage.embedded import EmbeddedStore  # noqa: PLC0415
    from doorkeeper.storage.files import DATABASE_NAME  # noqa: PLC0415
    from doorkeeper.storage.migrations import check_readable, newest_version  # noqa: PLC0415

    path = data_dir / DATABASE_NAME
    before = 0
    if path.is_file():
        with closing(connect_readonly(path)) as connection:
            before = check_readable(connection, path)
    if not dry_run:
        EmbeddedStore.open(data_dir, now_ms=now_ms, random_bytes=os.urandom).close()
    return Migrated(before, newest_version())


async def check(place: Place) -> tuple[Header, list[str]]:
    """Return what a store is and what is wrong with it; servers may go on using it.

    Raises:
        StorageError: there is none, or it cannot be read.

    """
    async with reading(place, alone=False) as store:
        return await store.header(), await checking.findings(store)


async def copy(
    source: Place,
    target: Place,
    *,
    overwrite: bool,
    now_ms: int,
    progress: Callable[[str], Progress | None],
) -> tuple[Header, str | None]:
    """Copy everything, and compare; return what was copied, and where the previous store lies.

    ``progress`` gives a function for each of both steps, by its name.

    Raises:
        StorageError: one of them is in use or cannot be used; the target is not empty; the
            source was changed meanwhile; what is read back differs.

    """
    if _same(source, target):
        raise StorageError(f"{shown(target)}: this is the source itself")
    aside = None
    async with reading(source, alone=True) as store:
        header = await store.header()
        reader = Reader(store, sum(header.rows.values()), progress("copy"))
        if isinstance(target, Path):
            from doorkeeper.storage import portable_embedded  # noqa: PLC0415 - SQLite, if it is one

            aside = await portable_embedded.write(
                target, header, reader.rows, now_ms=now_ms, overwrite=overwrite
            )
        else:
            from doorkeeper.storage.postgres import portable  # noqa: PLC0415 - the extra postgres
            from doorkeeper.storage.postgres.connecting import connected  # noqa: PLC0415

            async with connected(target) as connection:
                await portable.write(
                    connection, target.shown, header, reader.rows, overwrite=overwrite
                )
    async with reading(target, alone=False) as copied:
        await compare(shown(source), reader.sums, header, copied, progress("compare"))
    async with reading(source, alone=True) as store:
        if (await store.header()).revision != header.revision:
            raise StorageError(f"{shown(source)}: the store was changed while it was copied")
    return header, aside


def _same(source: Place, target: Place) -> bool:
    if isinstance(source, Path) and isinstance(target, Path):
        return source.resolve() == target.resolve()
    return shown(source) == shown(target)
