"""Stores by what an operator calls them: a folder, a URL, or the configuration of a server."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.app.stores import identity_file_of
from doorkeeper.config.loading import load
from doorkeeper.config.shared_store import SharedStore
from doorkeeper.storage.identity import IDENTITY_NAME

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from doorkeeper.config.settings import Settings
    from doorkeeper.storage.portable import Portable


class DataFolder(NamedTuple):
    """The folder of an embedded store, and its identity file."""

    path: Path
    identity_file: Path

    @property
    def shown(self) -> str:
        """Return what an error calls it."""
        return str(self.path)


Place = DataFolder | SharedStore


def folder(path: Path) -> DataFolder:
    """Return a folder with the identity file in it."""
    return DataFolder(path, path / IDENTITY_NAME)


def place_named(text: str) -> Place:
    """Return the store that a text names: a URL, a file of configuration, else a folder.

    Raises:
        ConfigError: the URL or the file has an error.

    """
    if "://" in text:
        # No node is meant, but a shared store demands the id of one.
        found = load(None, (f"doorkeeper.store={text}", "node.id=0")).settings.store
        assert found is not None
        return found
    path = Path(text)
    return place_of(load(path).settings) if path.is_file() else folder(path)


def place_of(settings: Settings) -> Place:
    """Return the store of a configuration."""
    if settings.store is not None:
        return settings.store
    identity_file = identity_file_of(settings)
    assert identity_file is not None
    return DataFolder(settings.data_dir, identity_file)


@asynccontextmanager
async def reading(place: Place, *, alone: bool) -> AsyncIterator[Portable]:
    """Open a store to read it as of one moment; ``alone`` refuses one that is in use.

    Raises:
        StorageError: there is none, it is in use, or it cannot be read.

    """
    if isinstance(place, DataFolder):
        from doorkeeper.storage import portable_embedded  # noqa: PLC0415 - SQLite, if it is one

        async with portable_embedded.reading(place.path, alone=alone) as embedded:
            yield embedded
        return
    from doorkeeper.storage.postgres import portable  # noqa: PLC0415 - the extra postgres
    from doorkeeper.storage.postgres.connecting import connection_to  # noqa: PLC0415

    async with (
        connection_to(place) as connection,
        portable.reading(connection, place.shown, alone=alone) as shared,
    ):
        yield shared
