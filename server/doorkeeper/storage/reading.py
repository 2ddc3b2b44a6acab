"""Read the ACLs of a store without its lock: nothing is written, and a server may be running."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.kinds.declared import ACL, CONFIG, CREDENTIAL, FEATURE, TOPIC
from doorkeeper.storage import digest, migrations, old_layout, schema
from doorkeeper.storage.database import connect_readonly, sqlite_errors
from doorkeeper.storage.sqlite import read_rows

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.kinds.acls import StoredBinding
    from doorkeeper.kinds.declared import StoredConfig, StoredFeature


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
    """Read the ACLs and the dynamic configuration of a database, also of an older version.

    Raises:
        StateDiffers: its rows are not those that were written.
        StorageError: there is none, it cannot be read, or is from a newer version.

    """
    with sqlite_errors(path), closing(connect_readonly(path)) as connection:
        connection.execute("BEGIN")  # one snapshot for all
        version = migrations.check_readable(connection, path)
        if version == schema.VERSION:
            digest.check(connection, path)
        read = read_rows if version >= schema.ONE_LAYOUT else old_layout.read
        features = list(read(connection, FEATURE)) if version >= schema.ONE_LAYOUT else []
        revision = schema.last_revision(connection)
        acls, configs = list(read(connection, ACL)), list(read(connection, CONFIG))
        users = frozenset(each.user for each in read(connection, CREDENTIAL))
        topics = frozenset(each.name for each in read(connection, TOPIC))
        return StoredRows(acls, configs, features, revision, users, topics)
