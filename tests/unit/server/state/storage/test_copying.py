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


def test_writing_meanwhile_neither_stops_nor_enters_the_copy(source: Path, tmp_path: Path) -> None:
    """A commit between any two steps: the copy ends, in one pass, and holds the first state."""
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


def test_a_copy_is_one_private_file(source: Path, tmp_path: Path) -> None:
    """The copy needs no WAL and no companions, and only its owner may read it."""
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


def test_a_copy_that_fails_leaves_nothing(source: Path, tmp_path: Path) -> None:
    """A progress function that gives up ends the copy; no half of it stays."""
    reader = connect_readonly(source)

    def give_up(_done: int, _pages: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_database(reader, tmp_path / "copy.db", give_up)

    assert not (tmp_path / "copy.db").exists()
    assert not reader.in_transaction
    reader.close()
