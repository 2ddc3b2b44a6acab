"""Reading the ACLs of a store without being its owner: nothing is written, a server may run."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.kinds.declared import ACL, CONFIG
from doorkeeper.storage import migrations, old_layout, schema
from doorkeeper.storage.database import connect_readonly, named
from doorkeeper.storage.sqlite import read_rows

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.kinds.acls import StoredBinding
    from doorkeeper.kinds.declared import StoredConfig


class StoredAcls(NamedTuple):
    """What decides, as it was durable at one moment."""

    bindings: list[StoredBinding]
    configs: list[StoredConfig]


def read_acls(path: Path) -> StoredAcls:
    """Read the bindings and the dynamic values of a database, of an older version too.

    Raises:
        StorageError: there is none, it cannot be read, or is from a newer version.

    """
    with named(path), closing(connect_readonly(path)) as connection:
        connection.execute("BEGIN")  # both from one moment
        version = migrations.check_readable(connection, path)
        read = read_rows if version >= schema.VERSION else old_layout.read
        return StoredAcls(list(read(connection, ACL)), list(read(connection, CONFIG)))
