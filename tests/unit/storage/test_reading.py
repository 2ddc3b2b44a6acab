"""Reading the ACLs of a store beside its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.storage.contract import Change, ConfigKey, StorageError
from doorkeeper.storage.files import DATABASE_NAME
from doorkeeper.storage.reading import read_acls
from testkit.stores import AUTHOR, adding, binding, fill, open_store

if TYPE_CHECKING:
    from pathlib import Path

KEY = ConfigKey("", "super.users")


async def test_bindings_and_values_are_read_while_a_server_has_the_store(data_dir: Path) -> None:
    """What is durable is read, and nothing is written."""
    await fill(data_dir, adding(1, 2), Change(author=AUTHOR, configs_set=((KEY, "User:x"),)))
    path = data_dir / DATABASE_NAME
    before = path.read_bytes()
    owner = open_store(data_dir)

    found = read_acls(path)

    assert sorted(found.bindings) == [binding(1), binding(2)]
    assert found.configs == [(KEY, "User:x")]
    owner.close()
    assert path.read_bytes() == before


async def test_a_store_of_the_first_version_has_no_values(data_dir: Path) -> None:
    """It needs no migration to be read."""
    await fill(data_dir, adding(1))
    connection = apsw.Connection(str(data_dir / DATABASE_NAME))
    connection.execute("UPDATE meta SET value = 1 WHERE key = 'schema_version'; DROP TABLE configs")
    connection.close()

    assert read_acls(data_dir / DATABASE_NAME) == ([binding(1)], [])


def test_what_is_no_store_is_told(tmp_path: Path) -> None:
    """The text names the file."""
    with pytest.raises(StorageError, match=r"/none: there is no such file"):
        read_acls(tmp_path / "none")
    (tmp_path / "text").write_text("no database at all, but a text that is long enough")
    with pytest.raises(StorageError, match="/text: "):
        read_acls(tmp_path / "text")
