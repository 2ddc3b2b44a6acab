"""The change log of a store, written by the server's own storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.acls.formats.names import binding_of
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import Author, edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.store import LogEntry
from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.sources import acl_sets, change_log
from testkit.stores import create_tables, write_entries

if TYPE_CHECKING:
    from pathlib import Path

BINDING = binding_of(
    resource="TOPIC",
    name="orders",
    pattern="LITERAL",
    principal="User:alice",
    host="*",
    does="READ",
    permission="ALLOW",
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store in whose log a binding came, went and came again, after an older one."""
    path = tmp_path / change_log.STORE_NAME
    connection = apsw.Connection(str(path))
    create_tables(connection)
    old = BINDING._replace(pattern=BINDING.pattern._replace(name="old"))
    other = BINDING._replace(pattern=BINDING.pattern._replace(name="pruned"))
    for revision, binding_id, binding, deleted in (
        (1, "old", old, False),
        (2, "pruned", other, False),
        (3, "a", BINDING, False),
        (4, "a", BINDING, True),
        (5, "b", BINDING, False),
        (6, "pruned", other, True),
    ):
        row = [StoredBinding(binding_id, binding)]
        change = edit(ACL, deleted=row) if deleted else edit(ACL, set=row)
        author = Author(f"User:admin{revision}", "h", "l", "c")
        write_entries(connection, [LogEntry(revision, author, change)], revision * 1000)
    connection.execute("DELETE FROM change_log WHERE revision <= 2")
    connection.close()
    return path


def test_bindings_have_times(store: Path) -> None:
    found = change_log.read(store).sort("from_revision", "to_revision", nulls_last=True)

    assert found.select("binding_id", "from_revision", "to_revision").rows() == [
        ("old", 1, None),
        ("a", 3, 4),
        ("b", 5, None),
        ("pruned", None, 6),
    ]
    rows_by_id = {row["binding_id"]: row for row in found.to_dicts()}
    assert rows_by_id["old"]["valid_from"] is None
    assert rows_by_id["a"]["valid_from"].timestamp() == 3
    assert rows_by_id["a"]["valid_to"].timestamp() == 4
    assert (rows_by_id["a"]["created_by"], rows_by_id["a"]["removed_by"]) == (
        "User:admin3",
        "User:admin4",
    )


def test_log_with_a_gap_is_rejected(store: Path) -> None:
    connection = apsw.Connection(str(store))
    connection.execute("DELETE FROM change_log WHERE revision = 4")
    connection.close()

    with pytest.raises(Unreadable, match=r"3 of the revisions 3 to 6 .* doorkeeper history verify"):
        change_log.read(store)


def test_other_databases_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with apsw.Connection(str(path)) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()

    with pytest.raises(Unreadable, match="not a Doorkeeper store"):
        acl_sets.read([str(path)])
    path.write_bytes(b"SQLite format 3\0" + b"x" * 1000)
    with pytest.raises(Unreadable, match=r"other\.db"):
        acl_sets.read([str(path)])
