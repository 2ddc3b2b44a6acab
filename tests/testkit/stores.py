"""Embedded stores for tests: bindings by number, and changes one can wait for."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import apsw

from doorkeeper.acl.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.authn.credentials import ScramCredential
from doorkeeper.storage.contract import (
    Author,
    Change,
    CredentialKey,
    StorageError,
    Store,
    StoredBinding,
    StoredToken,
    StoredTopic,
)
from doorkeeper.storage.embedded import EmbeddedStore
from doorkeeper.storage.files import DATABASE_NAME
from doorkeeper.storage.migrations import MIGRATIONS, Migration

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from doorkeeper.metrics.hooks import StoreMeter

AUTHOR = Author("User:admin", "192.0.2.7", "PLAINTEXT", "adminclient-1")

NOW_MS = 1_792_000_000_000
"""2026-10-14, in the afternoon."""


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


def topic(name: str, partitions: int = 3) -> StoredTopic:
    """Return a topic with one config."""
    return StoredTopic(name, bytes(range(16)), partitions, 1, {"cleanup.policy": "compact"})


def credential(
    user: str, mechanism: str = "SCRAM-SHA-256", iterations: int = 4096
) -> tuple[CredentialKey, ScramCredential]:
    """Return a credential that no password makes; its bytes depend on the user."""
    name = user.encode()
    made = ScramCredential(b"salt\0" + name, b"stored\xff" + name, b"server" + name, iterations)
    return CredentialKey(user, mechanism), made


def token(token_id: str, owner: str = "User:alice") -> StoredToken:
    """Return a delegation token that a service asked for, with two renewers."""
    renewers = ("User:\u00e9", "User:b,c")
    times = (NOW_MS, NOW_MS + 60_000, NOW_MS + 600_000)
    return StoredToken(token_id, owner, "User:service", renewers, *times, b"\0\xff")


def adding(*numbers: int) -> Change:
    """Return the change that adds the bindings with these numbers."""
    return Change(author=AUTHOR, bindings_added=tuple(map(binding, numbers)))


def removing(*numbers: int) -> Change:
    """Return the change that removes the bindings with these numbers."""
    return Change(author=AUTHOR, bindings_removed=tuple(map(binding, numbers)))


def plan(change: Change) -> Callable[[], Change]:
    """Return the plan that comes to a change whatever the state."""
    return lambda: change


def open_store(
    data_dir: Path,
    *,
    now_ms: Callable[[], int] = lambda: NOW_MS,
    random_bytes: Callable[[int], bytes] = os.urandom,
    cluster_id: str | None = None,
    retention_days: int = -1,
    migrations: tuple[Migration, ...] = MIGRATIONS,
    meter: StoreMeter | None = None,
) -> EmbeddedStore:
    """Open a store with a clock that stands still."""
    return EmbeddedStore.open(
        data_dir,
        now_ms=now_ms,
        random_bytes=random_bytes,
        cluster_id=cluster_id,
        retention_days=retention_days,
        migrations=migrations,
        meter=meter,
    )


def started_store(data_dir: Path) -> EmbeddedStore:
    """Open a store and start it on the running loop."""
    store = open_store(data_dir)
    store.start(asyncio.get_running_loop())
    return store


def submitting(store: Store, change: Change) -> asyncio.Future[int | StorageError]:
    """Submit a change and return the future of its result; an error is a result."""
    done: asyncio.Future[int | StorageError] = asyncio.get_running_loop().create_future()
    store.submit(plan(change), done.set_result)
    return done


async def fill(data_dir: Path, *changes: Change) -> None:
    """Open a store, commit each change as a revision of its own, close the store."""
    store = started_store(data_dir)
    for change in changes:
        result = await submitting(store, change)
        assert isinstance(result, int), result
    store.close()


def numbers_in(data_dir: Path) -> list[int]:
    """Open a store, return the numbers of its bindings, sorted, and close it."""
    store = open_store(data_dir)
    numbers = sorted(int(stored.binding_id) for stored in store.bindings())
    store.close()
    return numbers


def query(data_dir: Path, statement: str) -> list[tuple[object, ...]]:
    """Read the database beside the store, as another program would."""
    connection = apsw.Connection(str(data_dir / DATABASE_NAME), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(connection.execute(statement))
    finally:
        connection.close()
