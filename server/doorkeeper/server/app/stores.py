"""Opening of the configured store, embedded or shared: as a server, or for reading."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.server.app.errors import StartError
from doorkeeper.server.config.keys import CHANGE_LOG_RETENTION_DAYS, UPDATE_TIMEOUT_MS
from doorkeeper.server.config.shared_store import SharedStore
from doorkeeper.server.config.store_keys import (
    DATA_DIR,
    KAFKA_RELEASE,
    STORE_CREATE,
    STORE_IDENTITY_FILE,
)
from doorkeeper.server.schema.change import NO_CHANGE, Change, Committed
from doorkeeper.server.schema.declared import CREDENTIAL, StoredFeature
from doorkeeper.server.schema.features import NEWEST, release_change, release_of
from doorkeeper.server.state.storage.files import DATABASE_NAME, prepare_folder
from doorkeeper.server.state.storage.identity import IDENTITY_NAME
from doorkeeper.server.state.store import StorageError, Store

if TYPE_CHECKING:
    from doorkeeper.server.config.settings import Settings
    from doorkeeper.server.runtime.logger import Logger
    from doorkeeper.server.runtime.metrics.meters import StoreMeter
    from doorkeeper.server.state.log import StateLog
    from doorkeeper.server.state.storage.portable import Portable

# A change fails this long before its request times out, so that the response can tell the reason.
EARLIER_MS: Final = 1_000


_IF_EXPECTED: Final = (
    "if a store was expected here, stop the server and put the store back or restore a backup; to"
    " prevent this, set doorkeeper.store.create=false"
)


def identity_file_of(settings: Settings) -> Path:
    """Return the path of the identity file; several nodes may have one data folder."""
    named = settings[STORE_IDENTITY_FILE]
    if named is not None:
        return named
    if settings.store is None:
        return settings[DATA_DIR] / IDENTITY_NAME
    return settings[DATA_DIR] / f"doorkeeper.node-{settings.node_id}.identity"


class DataFolder(NamedTuple):
    """The folder of an embedded store, and its identity file."""

    path: Path
    identity_file: Path

    @property
    def display_name(self) -> str:
        return str(self.path)


StoreLocation = DataFolder | SharedStore


def location_of(settings: Settings) -> StoreLocation:
    if settings.store is not None:
        return settings.store
    return DataFolder(settings[DATA_DIR], identity_file_of(settings))


@asynccontextmanager
async def open_for_reading(location: StoreLocation, *, alone: bool) -> AsyncIterator[Portable]:
    """Open a store for reading in one snapshot; ``alone`` rejects one that is in use.

    Raises:
        StorageError: there is none, it is in use, or it cannot be read.
    """
    if isinstance(location, DataFolder):
        from doorkeeper.server.state.storage import portable_embedded

        async with portable_embedded.reading(location.path, alone=alone) as embedded:
            yield embedded
        return
    from doorkeeper.server.state.postgres import portable
    from doorkeeper.server.state.postgres.connecting import connection_to

    async with (
        connection_to(location) as connection,
        portable.reading(connection, location.display_name, alone=alone) as shared,
    ):
        yield shared


async def open_store(
    settings: Settings,
    *,
    now_ms: Callable[[], int] | None = None,
    make_store: bool = True,
    is_node: bool = True,
    meter: StoreMeter | None = None,
    logger: Logger | None = None,
    initial: Change = NO_CHANGE,
) -> Store:
    """Open the store; the caller closes it with ``aclose``.

    ``make_store`` permits the creation of a store, unless ``doorkeeper.store.create`` is false;
    ``logger`` gets a warning for it. A new store has the rows of ``initial``, and follows the
    release of the settings. A command on a shared store is not ``is_node``: it heeds the identity
    file of the configured node, and writes none.

    Raises:
        StoreReplaced: it is not the store of the identity file, or has lost changes.
        StorageError: there is none, it is in use, or it cannot be reached or used.
    """
    identity_file = identity_file_of(settings)
    create = make_store and settings[STORE_CREATE]
    rows = {**initial_rows(settings), **initial}
    if settings.store is not None:
        # The driver is needed only with a shared store.
        from doorkeeper.server.state.postgres.connecting import connector
        from doorkeeper.server.state.postgres.store import PostgresStore

        if is_node and settings[STORE_IDENTITY_FILE] is None:
            prepare_folder(settings[DATA_DIR])
        timeout_ms = settings[UPDATE_TIMEOUT_MS]
        shared = PostgresStore(
            connector(settings.store),
            name=settings.store.display_name,
            node_id=settings.node_id,
            timeout_s=(timeout_ms - min(EARLIER_MS, timeout_ms // 10)) / 1000,
            retention_days=settings[CHANGE_LOG_RETENTION_DAYS],
            meter=meter,
            lease_timeout_s=settings.store.lease_timeout_ms / 1000,
            identity_file=identity_file if is_node or identity_file.exists() else None,
        )
        await shared.open(os.urandom, create=create, initial=rows)
        if shared.is_new:
            _warn_of_new_store(logger, settings, shared, settings.store.display_name)
        return shared
    # Imported here: a server inside a test has no database.

    from doorkeeper.server.state.storage.sqlite import SqliteStore

    path = settings[DATA_DIR] / DATABASE_NAME
    # A command that only reads must not create an empty store in a mistyped folder.
    if not make_store and settings[STORE_CREATE] and not path.exists():
        raise StorageError(f"{path}: found no store; the first start of the server creates it")
    store = SqliteStore(
        settings[DATA_DIR],
        now_ms=now_ms,
        random_bytes=os.urandom,
        retention_days=settings[CHANGE_LOG_RETENTION_DAYS],
        meter=meter,
        identity_file=identity_file,
        create=create,
        initial=rows,
    )
    if store.is_new:
        _warn_of_new_store(logger, settings, store, str(path))
    return store


def _warn_of_new_store(
    logger: Logger | None, settings: Settings, store: Store, store_name: str
) -> None:
    """Say loudly that nothing was there: a lost data folder looks like a first start."""
    if logger is None:
        return
    logger.warning(
        "store created: no store was found, and the server starts as an empty cluster",
        store=store_name,
        cluster_id=store.identity.cluster_id,
        store_id=store.identity.store_id,
        kafka_release=settings[KAFKA_RELEASE] or NEWEST,
        remedy=_IF_EXPECTED,
    )


def initial_rows(settings: Settings) -> Change:
    """Return the rows that a new store begins with: the release that it follows."""
    return release_change(settings[KAFKA_RELEASE] or NEWEST)


def check_release(settings: Settings, features: Iterable[StoredFeature]) -> None:
    """Reject a store that follows another release than the configuration names.

    Raises:
        StartError: it does; the text names both and the remedies.
    """
    expected, followed = settings[KAFKA_RELEASE], release_of(features)
    if expected in (None, followed):
        return
    raise StartError(
        f"{KAFKA_RELEASE}: found {expected}, but the store follows Kafka {followed}: set the key to"
        f" {followed}, or change the store with doorkeeper store release {expected}"
    )


def log_credentials(state_log: StateLog, logger: Logger) -> None:
    """Log changes of SCRAM credentials by this node from now on."""

    def note(committed: Committed) -> None:
        edit = committed.change.get(CREDENTIAL)
        if edit is None or committed.origin is None:
            return
        author = committed.origin.author
        logger.info(
            "SCRAM credentials changed",
            set=", ".join(f"{credential.user} ({credential.mechanism})" for credential in edit.set),
            deleted=", ".join(
                f"{credential.user} ({credential.mechanism})" for credential in edit.deleted
            ),
            principal=author.principal,
            host=author.host,
        )

    state_log.subscribe(note, CREDENTIAL)
