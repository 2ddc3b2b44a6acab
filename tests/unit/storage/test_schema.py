from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.state.store import StorageError
from doorkeeper.storage import schema
from testkit.stores import create_tables

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def connection() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    create_tables(connection)
    yield connection
    connection.close()


def test_what_is_not_in_meta_is_damage(connection: apsw.Connection) -> None:
    """A store without a value that every store has is refused."""
    schema.set_meta(connection, "schema_version", 7)

    assert schema.version(connection) == 7
    with pytest.raises(StorageError, match="damaged: it has no cluster_id"):
        schema.meta(connection, "cluster_id")
