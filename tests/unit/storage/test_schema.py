from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.state.store import StorageError
from doorkeeper.storage import schema
from testkit.stores import adding, append, binding, create_tables, removing

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def connection() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    create_tables(connection)
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


def test_the_log_carries_its_rows_into_the_items(connection: apsw.Connection) -> None:
    """A row of the log sets an item with the revision of the row, and another deletes it."""
    append(connection, adding(1, 2), 5)
    append(connection, removing(1), 6)

    stored = list(connection.execute("SELECT key, revision FROM item"))

    assert stored == [(binding(2).binding_id, 5)]
    assert schema.last_revision(connection) == 6
