"""Embedded stores for tests: bindings by number, and commits one can wait for."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import apsw

from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.base.slices import run_to_end
from doorkeeper.server.app.stores import DataFolder
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import Author, edit
from doorkeeper.server.schema.declared import (
    ACL,
    QUOTA,
    StoredConfig,
    StoredCredential,
    StoredToken,
    StoredTopic,
)
from doorkeeper.server.state.memory import MemoryStore
from doorkeeper.server.state.storage import digest, schema
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.storage.identity import IDENTITY_NAME
from doorkeeper.server.state.storage.rows import fill_digests, log_statements
from doorkeeper.server.state.storage.sqlite import SqliteStore, execute
from doorkeeper.server.state.store import LogEntry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from doorkeeper.server.runtime.metrics.meters import StoreMeter
    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.schema.kind import Kind
    from doorkeeper.server.state.store import Lease, Store

AUTHOR = Author("User:admin", "192.0.2.7", "PLAINTEXT", "adminclient-1")

NOW_MS = 1_792_000_000_000
"""2026-10-14, in the afternoon."""


def data_folder(path: Path) -> DataFolder:
    """Return a folder as the location of an embedded store with its own identity file."""
    return DataFolder(path, path / IDENTITY_NAME)


def binding(number: int) -> StoredBinding:
    """Return a binding whose seven fields depend on its number; three share a pattern."""
    return StoredBinding(
        f"{number:022}",
        AclBinding(
            ResourcePattern(
                list(ResourceType)[2 + number // 3 % 6],
                f"name-{number // 3}",
                PatternType.PREFIXED if number % 5 else PatternType.LITERAL,
            ),
            AccessControlEntry(
                f"User:user-{number % 17}",
                f"192.0.2.{number % 4}" if number % 2 else "*",
                list(AclOperation)[2 + number % 14],
                AclPermissionType.DENY if number % 7 == 0 else AclPermissionType.ALLOW,
            ),
        ),
    )


def any_row(kind: Kind, key: int, value: int) -> Any:
    """Return a row of a kind, whose key and other columns depend on these numbers.

    Its texts hold characters that PostgreSQL refuses.
    """
    if kind is ACL:
        return binding(key)
    makers: dict[str, Callable[[str], object]] = {
        "str": lambda name: f"{name}\0\ufdd0-{value}",
        "int": lambda _: value,
        "float": lambda _: value / 2,
        "bytes": lambda _: value.to_bytes(16),
        "tuple[str, ...]": lambda _: (str(value), str(value + 1)),
        "Mapping[str, str]": lambda _: {str(value): str(value)},
    }
    types = kind.row.__annotations__
    cells = [makers[types[name]](name) for name in kind.row.__struct_fields__]
    for place, name in enumerate(kind.key):
        cells[place] = f"{name}\0\ufdd0-{key}"
    if kind is QUOTA:
        cells[0] = f'{{"user": "{key}\\u0000"}}'
    return kind.row(*cells)


def topic(name: str, partitions: int = 3) -> StoredTopic:
    """Return a topic with one config."""
    return StoredTopic(name, bytes(range(16)), partitions, 1, {"cleanup.policy": "compact"})


def config(name: str, value: str, broker: str = "") -> StoredConfig:
    """Return a dynamic value, by default of all nodes."""
    return StoredConfig(broker, name, value)


def credential(
    user: str, mechanism: str = "SCRAM-SHA-256", iterations: int = 4096
) -> StoredCredential:
    """Return a credential that no password makes; its bytes depend on the user."""
    name = user.encode()
    keys = (b"salt\0" + name, b"stored\xff" + name, b"server" + name)
    return StoredCredential(user, mechanism, *keys, iterations)


def token(token_id: str, owner: str = "User:alice") -> StoredToken:
    """Return a delegation token that a service asked for, with two renewers."""
    renewers = ("User:\u00e9", "User:b,c")
    times = (NOW_MS, NOW_MS + 60_000, NOW_MS + 600_000)
    return StoredToken(token_id, owner, "User:service", renewers, *times, b"\0\xff")


def adding(*numbers: int) -> Change:
    """Return the change that adds the bindings with these numbers."""
    return edit(ACL, set=map(binding, numbers))


def removing(*numbers: int) -> Change:
    """Return the change that removes the bindings with these numbers."""
    return edit(ACL, deleted=map(binding, numbers))


def open_store(
    data_dir: Path,
    *,
    now_ms: Callable[[], int] = lambda: NOW_MS,
    random_bytes: Callable[[int], bytes] = os.urandom,
    retention_days: int = -1,
    meter: StoreMeter | None = None,
    identity_file: Path | None = None,
    create: bool = True,
) -> SqliteStore:
    """Open a store with a clock that stands still."""
    return SqliteStore(
        data_dir,
        now_ms=now_ms,
        random_bytes=random_bytes,
        retention_days=retention_days,
        meter=meter,
        identity_file=identity_file,
        create=create,
    )


def started_store(data_dir: Path) -> SqliteStore:
    """Open a store and start it on the running loop."""
    store = open_store(data_dir)
    store.start(asyncio.get_running_loop())
    return store


async def commit(store: Store, *changes: Change) -> int:
    """Commit changes as one transaction, each a revision of its own; return the last revision."""
    async with store.lease() as lease:
        first = _newest(store) + 1
        entries = [LogEntry(revision, AUTHOR, each) for revision, each in enumerate(changes, first)]
        await lease.commit(encoded(lease, *entries), uuid.uuid4())
        return entries[-1].revision


def _newest(store: Store) -> int:
    if isinstance(store, MemoryStore):
        return len(store.entries)
    assert isinstance(store, SqliteStore)
    return store._identity_file.revision


def encoded(lease: Lease, *entries: LogEntry) -> Any:
    """Return revisions as ``lease.commit`` takes them."""
    found = lease.encode(entries)
    return run_to_end(found) if isinstance(found, Generator) else found


async def fill(data_dir: Path, *changes: Change) -> None:
    """Open a store, commit each change as a revision of its own, close the store."""
    store = started_store(data_dir)
    for change in changes:
        await commit(store, change)
    store.close()


def numbers_in(data_dir: Path) -> list[int]:
    """Open a store, return the numbers of its bindings, sorted, and close it."""
    with closing(open_store(data_dir)) as store:
        return sorted(int(stored.binding_id) for stored in store.rows(ACL))


def query(data_dir: Path, statement: str) -> list[tuple[object, ...]]:
    """Read the database beside the store, as another program would."""
    connection = apsw.Connection(str(data_dir / DATABASE_NAME), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(connection.execute(statement))
    finally:
        connection.close()


def create_tables(connection: apsw.Connection) -> None:
    """Create the tables of a store in a database."""
    connection.execute(schema.TABLES + schema.TRIGGERS)
    schema.set_base(connection, 0, "", NOW_MS)
    digest.write_anew(connection)
    connection.pragma("application_id", schema.APPLICATION_ID)


def append(
    connection: apsw.Connection, change: Change, revision: int, time_ms: int = NOW_MS
) -> None:
    """Write a change as a revision."""
    write_entries(connection, [LogEntry(revision, AUTHOR, change)], time_ms)


def write_entries(
    connection: apsw.Connection, entries: list[LogEntry], time_ms: int = NOW_MS
) -> None:
    """Write revisions in one transaction."""
    write = run_to_end(log_statements(entries, time_ms, schema.last_hash(connection)))
    fill_digests(connection, write, int(schema.last_digest(connection) or "0", 16))
    execute(connection, write.statements)
