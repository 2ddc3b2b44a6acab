from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.server.state.storage.backup import copy_database
from doorkeeper.server.state.storage.database import connect, connect_readonly
from testkit.stores import adding, append, create_tables

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.db"
    connection = connect(path)
    create_tables(connection)
    append(connection, adding(*range(5000)), 1)
    connection.close()
    return path


def count(path: Path) -> object:
    connection = apsw.Connection(str(path))
    try:
        return connection.execute("SELECT count(*) FROM item").get
    finally:
        connection.close()


def test_writes_during_a_copy_are_excluded(source: Path, tmp_path: Path) -> None:
    writer, reader = connect(source), connect_readonly(source)
    calls: list[tuple[int, int]] = []

    def write_more(done: int, pages: int) -> None:
        calls.append((done, pages))
        append(writer, adding(10_000 + len(calls)), 1 + len(calls))

    copy_database(reader, tmp_path / "copy.db", write_more)

    assert len(calls) > 1
    assert [done for done, _ in calls] == sorted({done for done, _ in calls})
    assert calls[-1][0] == calls[-1][1]
    assert count(tmp_path / "copy.db") == 5000
    assert count(source) == 5000 + len(calls)
    writer.close()
    reader.close()


def test_copy_is_one_private_file(source: Path, tmp_path: Path) -> None:
    reader = connect_readonly(source)
    target = tmp_path / "folder" / "copy.db"
    target.parent.mkdir()

    copy_database(reader, target)
    reader.close()

    assert [path.name for path in target.parent.iterdir()] == ["copy.db"]
    assert target.stat().st_mode & 0o777 == 0o600
    copy = apsw.Connection(str(target))
    assert copy.pragma("journal_mode") == "delete"
    copy.close()


def test_failed_copy_leaves_nothing(source: Path, tmp_path: Path) -> None:
    reader = connect_readonly(source)

    def give_up(_done: int, _pages: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_database(reader, tmp_path / "copy.db", give_up)

    assert not (tmp_path / "copy.db").exists()
    assert not reader.in_transaction
    reader.close()
