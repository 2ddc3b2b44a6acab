from __future__ import annotations

from collections.abc import Iterator

import apsw
import pytest

from doorkeeper.storage import schema
from doorkeeper.storage.contract import StorageError
from doorkeeper.storage.rows import append, log_rows
from testkit.stores import NOW_MS, adding, binding, removing


@pytest.fixture
def connection() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    connection.execute(schema.TABLES)
    connection.execute(schema.VERSION_2)
    connection.execute(schema.VERSION_3)
    yield connection
    connection.close()


def test_an_empty_database_is_new(connection: apsw.Connection) -> None:
    """A database is new until the first table is made."""
    empty = apsw.Connection(":memory:")

    assert schema.is_new(empty)
    assert not schema.is_new(connection)
    empty.close()


def test_what_is_not_in_meta_is_damage(connection: apsw.Connection) -> None:
    """A store without a value that every store has is refused."""
    schema.set_meta(connection, "schema_version", 7)

    assert schema.version(connection) == 7
    with pytest.raises(StorageError, match="damaged: it has no cluster_id"):
        schema.meta(connection, "cluster_id")


def test_the_log_carries_its_rows_into_the_tables(connection: apsw.Connection) -> None:
    """A row of the log makes a binding with the revision of the row, and another removes it."""
    append(connection, log_rows(adding(1, 2), 5, NOW_MS))
    append(connection, log_rows(removing(1), 6, NOW_MS))

    stored = list(connection.execute("SELECT binding_id, revision FROM bindings"))

    assert stored == [(binding(2).binding_id, 5)]
    assert schema.last_revision(connection) == 6


def test_what_is_not_there_cannot_go(connection: apsw.Connection) -> None:
    """Removing a binding that is not stored fails, and the log keeps no row of it."""
    with pytest.raises(apsw.ConstraintError, match="a binding to delete is not in the store"):
        append(connection, log_rows(removing(1), 1, NOW_MS))

    assert schema.last_revision(connection) == 0


def test_the_triggers_know_every_kind() -> None:
    """Each kind of the log is the condition of one trigger."""
    conditions = [f"new.kind = {kind:d} BEGIN" for kind in schema.LogKind]

    tables = schema.TABLES + schema.VERSION_2 + schema.VERSION_3
    assert [tables.count(condition) for condition in conditions] == [1] * len(schema.LogKind)
