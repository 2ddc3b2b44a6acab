from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.server.state.storage import schema
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.store import StorageError
from testkit.stores import create_tables, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def connection() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    create_tables(connection)
    yield connection
    connection.close()


def test_missing_meta_value_is_damage(connection: apsw.Connection) -> None:
    with pytest.raises(StorageError, match="damaged: it has no cluster_id"):
        schema.meta(connection, "cluster_id")


def test_other_schema_version_is_rejected(data_dir: Path) -> None:
    open_store(data_dir).close()
    connection = apsw.Connection(str(data_dir / DATABASE_NAME))
    connection.execute("UPDATE meta SET value = 2 WHERE key = 'schema_version'")
    connection.close()
    before = (data_dir / DATABASE_NAME).read_bytes()

    with pytest.raises(StorageError) as raised:
        open_store(data_dir)

    assert f"{data_dir / DATABASE_NAME}: the store has schema version 2" in str(raised.value)
    assert "reads schema version 1" in str(raised.value)
    assert (data_dir / DATABASE_NAME).read_bytes() == before
