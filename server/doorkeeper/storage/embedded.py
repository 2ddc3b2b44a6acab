"""The embedded store: one SQLite file in the data folder, for one node."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Self

from doorkeeper.collector import collector_paused
from doorkeeper.metrics.hooks import StoreMeter
from doorkeeper.storage import rows, schema
from doorkeeper.storage.cluster_id import check_form, random_uuid
from doorkeeper.storage.contract import (
    Change,
    ConfigKey,
    CredentialKey,
    StorageError,
    Store,
    StoredBinding,
    StoredToken,
    StoredTopic,
)
from doorkeeper.storage.database import connect, named
from doorkeeper.storage.files import DATABASE_NAME, prepare_folder, sync_folder
from doorkeeper.storage.lock import DataLock
from doorkeeper.storage.migrations import MIGRATIONS, Migration, create, migrate
from doorkeeper.storage.upkeep import Upkeep
from doorkeeper.storage.writer import Writer

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import apsw

    from doorkeeper.authn.credentials import ScramCredential


class EmbeddedStore(Store):
    """A store in a file that this process alone writes.

    An acknowledged change survives kill -9, and a power cut as far as the disk keeps its word.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        lock: DataLock,
        path: Path,
        *,
        now_ms: Callable[[], int],
        retention_days: int,
        meter: StoreMeter,
    ) -> None:
        self._connection = connection
        self._lock = lock
        self._path = path
        self._now_ms = now_ms
        self._meter = meter
        self._upkeep = Upkeep(connection, now_ms=now_ms, retention_days=retention_days)
        self._cluster_id = str(schema.meta(connection, "cluster_id"))
        self._salt_key = bytes.fromhex(str(schema.meta(connection, "salt_key")))
        self._revision = schema.last_revision(connection)
        self._writer: Writer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @classmethod
    def open(
        cls,
        data_dir: Path,
        *,
        now_ms: Callable[[], int],
        random_bytes: Callable[[int], bytes],
        cluster_id: str | None = None,
        retention_days: int = -1,
        migrations: tuple[Migration, ...] = MIGRATIONS,
        meter: StoreMeter | None = None,
    ) -> Self:
        """Open the store in a folder; make both where they are missing; migrate an older store.

        ``cluster_id`` is what a new store gets, and what an old one must have; None: a random one,
        or whichever it has. ``retention_days`` is how long rows of the change log stay; -1: for
        ever. ``now_ms`` is called on the writer's thread too, and ``meter`` is told there.

        Raises:
            StorageError: the folder or file cannot be used, another process uses it, it is no
                store of ours or from a newer version, or belongs to another cluster.

        """
        if cluster_id is not None:
            check_form(cluster_id)
        prepare_folder(data_dir)
        path = data_dir / DATABASE_NAME
        with ExitStack() as undo, named(path):
            lock = DataLock.acquire(data_dir)
            undo.callback(lock.release)
            connection = connect(path)
            undo.callback(connection.close)
            if schema.is_new(connection):
                made = cluster_id or random_uuid(random_bytes)
                create(connection, cluster_id=made, now_ms=now_ms(), migrations=migrations)
                sync_folder(data_dir)
            else:
                migrate(connection, path, now_ms=now_ms(), migrations=migrations)
            if not schema.has_meta(connection, "salt_key"):
                schema.set_meta(connection, "salt_key", random_bytes(32).hex())
            store = cls(
                connection,
                lock,
                path,
                now_ms=now_ms,
                retention_days=retention_days,
                meter=meter or StoreMeter(),
            )
            if cluster_id not in (None, store.cluster_id):
                raise StorageError(
                    f"{path}: the store belongs to cluster {store.cluster_id}, not to {cluster_id}"
                )
            undo.pop_all()
        return store

    @property
    def cluster_id(self) -> str:
        """Return the 22 characters that name the cluster; made once, with the store."""
        return self._cluster_id

    @property
    def salt_key(self) -> bytes:
        """Return 32 secret bytes, made once: under them a name that nobody has gets its salt."""
        return self._salt_key

    @property
    def revision(self) -> int:
        """Return the number of the last durable revision, as delivered; 0 in a new store."""
        return self._revision if self._writer is None else self._writer.delivered_revision

    def bindings(self) -> Iterator[StoredBinding]:
        """Read all bindings, in no order. For the start, before the first ``submit``.

        The garbage collector rests until the last one is read: it would look at each of them
        several times, find nothing, and double the time of the start.

        They are read over a connection of their own, in any thread: the other one belongs to the
        writer, whose upkeep may begin at any time, and apsw refuses to share it between threads.
        """
        with named(self._path), collector_paused(), closing(connect(self._path)) as reader:
            yield from rows.read_bindings(reader)

    def topics(self) -> Iterator[StoredTopic]:
        """Read all topics, sorted by name. For the start, before the first ``submit``."""
        with named(self._path):
            yield from rows.read_topics(self._connection)

    def configs(self) -> Iterator[tuple[ConfigKey, str]]:
        """Read all dynamic values, sorted. For the start, before the first ``submit``."""
        with named(self._path):
            yield from rows.read_configs(self._connection)

    def credentials(self) -> Iterator[tuple[CredentialKey, ScramCredential]]:
        """Read all SCRAM credentials, sorted. For the start, before the first ``submit``."""
        with named(self._path):
            yield from rows.read_credentials(self._connection)

    def tokens(self) -> Iterator[StoredToken]:
        """Read all delegation tokens, sorted. For the start, before the first ``submit``."""
        with named(self._path):
            yield from rows.read_tokens(self._connection)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to take changes; results are delivered on this loop."""
        assert self._writer is None
        self._loop = loop
        self._writer = Writer(
            self._connection, self._upkeep, loop=loop, now_ms=self._now_ms, meter=self._meter
        )

    def submit(
        self, plan: Callable[[], Change], on_done: Callable[[int | StorageError], None]
    ) -> None:
        """Plan a change at once and write it; never blocks. After ``close`` it fails, in turn."""
        assert self._writer is not None
        assert self._loop is not None
        if self._closed:
            self._loop.call_soon(on_done, StorageError(f"{self._path}: the store is closed"))
            return
        change = plan()
        if change or not self._writer.is_settled:
            self._writer.submit(change, on_done)
        else:
            # What changes nothing need not wait, unless what it was planned on may still fail.
            on_done(self._writer.delivered_revision)

    def close(self) -> None:
        """Commit what was submitted, then release the database. Blocks; may be called twice."""
        if self._closed:
            return
        self._closed = True
        if self._writer is not None:
            self._writer.close()
        self._connection.close()  # the last one to close brings the WAL into the database file
        self._lock.release()
