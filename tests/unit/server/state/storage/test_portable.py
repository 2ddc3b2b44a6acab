"""The form between two stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.server.state.storage.portable import COLUMNS, LOG, ONLY_SHARED, Base, Header
from testkit.stores import open_store, query

if TYPE_CHECKING:
    from pathlib import Path

NO_BASE = Base(0, "", 0)


async def test_columns_are_those_of_the_embedded_store(data_dir: Path) -> None:
    """The tables have these columns; secrets and digests are not copied with the log."""
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


def test_a_header_says_whether_anything_was_changed() -> None:
    """A store is empty with the rows that it was created with; one that was emptied is not."""
    assert Header("A" * 22, "B" * 22, b"", 0, {"item": 0}, NO_BASE).empty
    assert not Header("A" * 22, "B" * 22, b"", 3, {"item": 0}, NO_BASE).empty
    assert Header("A" * 22, "B" * 22, b"", 0, {"item": 1, "change_log": 0}, NO_BASE).empty
    assert not Header("A" * 22, "B" * 22, b"", 0, {"item": 1, "change_log": 1}, NO_BASE).empty


def test_a_header_does_not_show_its_secret() -> None:
    """The salt key is left out where a header is printed."""
    assert "sssecret" not in repr(Header("A" * 22, "B" * 22, b"sssecret", 0, {}, NO_BASE))
