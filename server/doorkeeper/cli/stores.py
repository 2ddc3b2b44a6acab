"""Stores by their addresses: a folder, a URL, or a server's configuration."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from doorkeeper.cli.addresses import AddressType
from doorkeeper.cli.repositories.addresses import STORES, AddressKind
from doorkeeper.server.app.stores import location_of, open_for_reading
from doorkeeper.server.config.loading import load

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from typing import Any

    from doorkeeper.cli.repositories.addresses import Address
    from doorkeeper.server.config.settings import Settings
    from doorkeeper.server.state.storage.portable import Portable


STORE_ADDRESSES: Final = """
\b
Addresses of stores:
  config:server.properties   the store of the server with this configuration
  store:/var/lib/doorkeeper  the embedded store in this folder
  postgresql://user@db/acls  the shared store in this database
"""
"""The part of help texts that explains addresses of stores."""


def store_argument(
    name: str = "store", metavar: str = "ADDRESS"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    expected = f"expected the address of a store: {STORES}"
    kind = AddressType(lambda store: store.is_store, expected)
    return click.argument(name, metavar=metavar, type=kind)


def settings_at(address: Address, overrides: Sequence[str] = ()) -> Settings:
    """Return the configuration that the address of a store stands for.

    Raises:
        ConfigError: the URL, the file or an override has an error.
    """
    assert address.is_store
    file = None
    keys: tuple[str, ...] = ()
    match address.kind:
        case AddressKind.CONFIG:
            file = Path(address.target)
        case AddressKind.SHARED:
            # A shared store requires a node id, which is unused here.
            keys = (f"doorkeeper.store={address.kind.value}{address.target}", "node.id=0")
        case _:
            keys = (f"doorkeeper.data.dir={address.target}",)
    return load(file, (*keys, *overrides)).settings


@asynccontextmanager
async def open_history(address: Address, overrides: Sequence[str] = ()) -> AsyncIterator[Portable]:
    """Open the store or the backup at an address for reading; servers may be using it.

    Raises:
        ConfigError: the configuration has an error.
        StorageError: there is none, or it cannot be read.
    """
    if address.kind is AddressKind.BACKUP:
        from doorkeeper.server.state.storage import portable_embedded

        async with portable_embedded.reading_file(Path(address.target), address.target) as backup:
            yield backup
        return
    location = location_of(settings_at(address, overrides))
    async with open_for_reading(location, alone=False) as store:
        yield store
