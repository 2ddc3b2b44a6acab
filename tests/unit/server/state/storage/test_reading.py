"""Reading the ACLs of a store beside its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import CONFIG
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.storage.reading import read_acls
from doorkeeper.server.state.store import StorageError
from testkit.stores import adding, binding, config, fill, open_store

if TYPE_CHECKING:
    from pathlib import Path


SUPER_USERS = config("super.users", "User:x")


async def test_store_is_read_while_a_server_uses_it(data_dir: Path) -> None:
    await fill(data_dir, adding(1, 2), edit(CONFIG, set=[SUPER_USERS]))
    path = data_dir / DATABASE_NAME
    before = path.read_bytes()
    owner = open_store(data_dir)

    found = read_acls(path)

    assert sorted(found.bindings) == [binding(1), binding(2)]
    assert found.configs == [SUPER_USERS]
    owner.close()
    assert path.read_bytes() == before


def test_other_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"/none: no such file"):
        read_acls(tmp_path / "none")
    (tmp_path / "text").write_text("no database at all, but a text that is long enough")
    with pytest.raises(StorageError, match="/text: "):
        read_acls(tmp_path / "text")
