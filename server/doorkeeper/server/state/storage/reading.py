"""Read the rows of an embedded store: of an open connection, or the ACLs without its lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

import apsw
from msgspec import Struct

from doorkeeper.server.schema.acls import StoredBinding, bindings_from
from doorkeeper.server.schema.declared import (
    ACL,
    CONFIG,
    CREDENTIAL,
    FEATURE,
    OFFSET,
    SETTING,
    TOPIC,
    StoredConfig,
    StoredFeature,
)
from doorkeeper.server.schema.kind import Item, Kind
from doorkeeper.server.state.storage import digest, schema
from doorkeeper.server.state.storage.database import connect_readonly, sqlite_errors
from doorkeeper.server.state.storage.identity import ExpectedStore
from doorkeeper.server.state.store import StorageError, StoreIdentity

_ROWS: Final = "SELECT key, value, secret FROM item WHERE kind = ?"
_ACLS: Final = "SELECT key, value FROM item WHERE kind = ?"
_ITEMS: Final = "SELECT kind, key, value, secret FROM item WHERE kind NOT IN (?, ?, ?)"


class StoredRows(Struct, frozen=True):
    """ACLs, dynamic configuration, features and names, from one consistent snapshot."""

    bindings: list[StoredBinding]
    configs: list[StoredConfig]
    features: list[StoredFeature]
    revision: int
    cluster_id: str
    users: frozenset[str]
    """The users with SCRAM credentials."""
    topics: frozenset[str]
    """The topics that were created over the wire."""


def stored_rows(
    rows: Callable[[Kind], Iterator[Any]], revision: int, cluster_id: str
) -> StoredRows:
    """Return what ``rows`` returns for each kind."""
    return StoredRows(
        bindings=list(rows(ACL)),
        configs=list(rows(CONFIG)),
        features=list(rows(FEATURE)),
        revision=revision,
        cluster_id=cluster_id,
        users=frozenset(credential.user for credential in rows(CREDENTIAL)),
        topics=frozenset(topic.name for topic in rows(TOPIC)),
    )


def read_acls(path: Path) -> StoredRows:
    """Read the ACLs and the dynamic configuration of a database, which a server may have open.

    Raises:
        StateDiffers: its rows are not those that were written.
        StorageError: there is none, it cannot be read, or is from another version.
    """
    with sqlite_errors(path), closing(connect_readonly(path)) as connection:
        connection.execute("BEGIN")  # one snapshot for all
        schema.check_readable(connection, path)
        digest.check(connection, path)
        cluster_id = str(schema.meta(connection, "cluster_id"))
        rows = partial(read_rows, connection)
        return stored_rows(rows, schema.last_revision(connection), cluster_id)


def read_items(path: Path) -> dict[tuple[str, str], tuple[str, str | None]]:
    """Return values and secrets by kind and key: not of ACLs, and of nothing that servers write.

    Raises:
        StorageError: there is no store, it cannot be read, or is from another version.
    """
    with sqlite_errors(path), closing(connect_readonly(path)) as connection:
        schema.check_readable(connection, path)
        rows = connection.execute(_ITEMS, (ACL.name, OFFSET.name, SETTING.name))
        return {(kind, key): (value, secret) for kind, key, value, secret in rows}


def read_rows(connection: apsw.Connection, kind: Kind) -> Iterator[Any]:
    try:
        if kind is ACL:
            yield from bindings_from(connection.execute(_ACLS, (kind.name,)))
            return
        for cells in connection.execute(_ROWS, (kind.name,)):
            yield kind.decode(Item(*cells))
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"{connection.filename}: the store is damaged: cannot read an item of kind"
            f" {kind.name}: {error}"
        ) from error


def identity_of(connection: apsw.Connection) -> StoreIdentity:
    return StoreIdentity(
        str(schema.meta(connection, "cluster_id")),
        str(schema.meta(connection, "store_id")),
        bytes.fromhex(str(schema.meta(connection, "salt_key"))),
    )


def expected_store_of(connection: apsw.Connection, path: Path) -> ExpectedStore:
    """Return the content for the identity file of a store."""
    schema.check_readable(connection, path)
    cluster_id, store_id = (str(schema.meta(connection, key)) for key in ("cluster_id", "store_id"))
    return ExpectedStore(cluster_id, store_id, schema.last_revision(connection))
