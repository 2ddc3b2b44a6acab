"""The form between two stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.server.state.storage.portable import COLUMNS, LOG, ONLY_SHARED, Base, Header
from testkit.stores import open_store, query

if TYPE_CHECKING:
    from pathlib import Path

NO_BASE = Base(0, "", 0)


async def test_columns_of_the_embedded_store(data_dir: Path) -> None:
    open_store(data_dir).close()

    for table, columns in COLUMNS.items():
        found = {
            str(name)
            for (name,) in query(data_dir, f"SELECT name FROM pragma_table_info('{table}')")
        }
        own = columns[:-ONLY_SHARED] if table == LOG else columns
        assert found - {"secret", "digest"} == set(own) - {"secret"}
    assert COLUMNS[LOG][-ONLY_SHARED:] == ("node_id", "batch")
    assert "secret" not in COLUMNS[LOG]


def test_header_shows_whether_the_store_changed() -> None:
    assert Header("A" * 22, "B" * 22, b"", 0, NO_BASE, {"item": 0}).empty
    assert not Header("A" * 22, "B" * 22, b"", 3, NO_BASE, {"item": 0}).empty
    assert Header("A" * 22, "B" * 22, b"", 0, NO_BASE, {"item": 1, "change_log": 0}).empty
    assert not Header("A" * 22, "B" * 22, b"", 0, NO_BASE, {"item": 1, "change_log": 1}).empty


def test_repr_hides_the_salt_key() -> None:
    assert "sssecret" not in repr(Header("A" * 22, "B" * 22, b"sssecret", 0, NO_BASE, {}))
