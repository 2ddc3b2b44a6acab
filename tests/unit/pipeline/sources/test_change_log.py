"""The change log of a store, written by the server's own storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.acl.formats.names import binding_of
from doorkeeper.storage import schema
from doorkeeper.storage.schema import LogKind
from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.sources import acl_sets, change_log

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
    with apsw.Connection(str(path)) as connection:
        connection.pragma("application_id", schema.APPLICATION_ID)
        for _ in connection.execute(schema.TABLES + schema.VERSION_2 + schema.VERSION_3):
            pass
        old = BINDING._replace(pattern=BINDING.pattern._replace(name="old"))
        other = BINDING._replace(pattern=BINDING.pattern._replace(name="pruned"))
        for revision, kind, binding_id, binding in (
            (1, LogKind.BINDING_CREATED, "old", old),
            (2, LogKind.BINDING_CREATED, "pruned", other),
            (3, LogKind.BINDING_CREATED, "a", BINDING),
            (4, LogKind.BINDING_DELETED, "a", BINDING),
            (5, LogKind.BINDING_CREATED, "b", BINDING),
            (6, LogKind.BINDING_DELETED, "pruned", other),
        ):
            row = (revision, 0, int(kind), revision * 1000, f"User:admin{revision}", "h", "l", "c")
            cells = (binding_id, *binding.pattern, *binding.entry)
            names = "binding_id, resource_type, name, pattern_type, principal, host, operation"
            connection.execute(
                "INSERT INTO change_log (revision, item, kind, time_ms, author_principal,"
                f" author_host, author_listener, author_client_id, {names}, permission_type)"
                " VALUES (" + ",".join("?" * 16) + ")",
                (*row, *cells),
            )
        connection.execute("DELETE FROM change_log WHERE revision <= 2")
    connection.close()
    return path


def test_every_binding_with_its_times(store: Path) -> None:
    """A binding that came twice is two rows; what is older than the log has no begin."""
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


def test_a_store_by_its_folder(store: Path) -> None:
    """A data folder is as good as the file in it."""
    assert len(acl_sets.read([str(store.parent)])) == 4


def test_the_server_writes_what_is_read_here() -> None:
    """The kinds of rows are the server's."""
    assert (change_log.CREATED, change_log.DELETED) == (
        LogKind.BINDING_CREATED,
        LogKind.BINDING_DELETED,
    )
    assert change_log.APPLICATION_ID == schema.APPLICATION_ID


def test_a_database_of_others(tmp_path: Path) -> None:
    """A database of another program is refused, and a damaged one."""
    path = tmp_path / "other.db"
    with apsw.Connection(str(path)) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()

    with pytest.raises(Unreadable, match="not a store"):
        acl_sets.read([str(path)])
    path.write_bytes(b"SQLite format 3\0" + b"x" * 1000)
    with pytest.raises(Unreadable, match=r"other\.db"):
        acl_sets.read([str(path)])
