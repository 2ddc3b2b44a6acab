"""Reading the ACLs of a store without being its owner: nothing is written, a server may run."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.storage import migrations, rows
from doorkeeper.storage.database import connect_readonly, named

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.storage.contract import ConfigKey, StoredBinding

CONFIGS_SINCE = 2
"""The version of the schema that brought the table of dynamic values."""


class StoredAcls(NamedTuple):
    """What decides, as it was durable at one moment."""

    bindings: list[StoredBinding]
    configs: list[tuple[ConfigKey, str]]


def read_acls(path: Path) -> StoredAcls:
    """Read the bindings and the dynamic values of a database.

    Raises:
        StorageError: there is none, it cannot be read, or is from a newer version.

    """
    with named(path), closing(connect_readonly(path)) as connection:
        version = migrations.check_readable(connection, path)
        connection.execute("BEGIN")  # both from one moment
        bindings = list(rows.read_bindings(connection))
        has_configs = version >= CONFIGS_SINCE
        return StoredAcls(bindings, list(rows.read_configs(connection)) if has_configs else [])
