"""Read the ACLs of a store without its lock: nothing is written, and a server may be running."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.server.schema.declared import ACL, CONFIG, CREDENTIAL, FEATURE, TOPIC
from doorkeeper.server.state.storage import digest, schema
from doorkeeper.server.state.storage.database import connect_readonly, sqlite_errors
from doorkeeper.server.state.storage.sqlite import read_rows

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.server.schema.acls import StoredBinding
    from doorkeeper.server.schema.declared import StoredConfig, StoredFeature


class StoredRows(NamedTuple):
    """ACLs, dynamic configuration, features and names, from one consistent snapshot."""

    bindings: list[StoredBinding]
    configs: list[StoredConfig]
    features: list[StoredFeature]
    revision: int
    users: frozenset[str] = frozenset()
    """The users with SCRAM credentials."""
    topics: frozenset[str] = frozenset()
    """The topics that were created over the wire."""


def read_acls(path: Path) -> StoredRows:
    """Read the ACLs and the dynamic configuration of a database.

    Raises:
        StateDiffers: its rows are not those that were written.
        StorageError: there is none, it cannot be read, or is from another version.

    """
    with sqlite_errors(path), closing(connect_readonly(path)) as connection:
        connection.execute("BEGIN")  # one snapshot for all
        schema.check_readable(connection, path)
        digest.check(connection, path)
        return StoredRows(
            bindings=list(read_rows(connection, ACL)),
            configs=list(read_rows(connection, CONFIG)),
            features=list(read_rows(connection, FEATURE)),
            revision=schema.last_revision(connection),
            users=frozenset(each.user for each in read_rows(connection, CREDENTIAL)),
            topics=frozenset(each.name for each in read_rows(connection, TOPIC)),
        )
