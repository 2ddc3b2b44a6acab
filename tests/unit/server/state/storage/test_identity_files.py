"""What is noticed of the files of an open database; ``test_lost_store`` has what follows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.state.storage.sqlite import DatabaseFiles

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "doorkeeper.db"
    for each in (path, wal_of(path)):
        each.write_bytes(b"x" * 100)
    return path


def wal_of(database: Path) -> Path:
    return database.with_name("doorkeeper.db-wal")


def touch(path: Path) -> None:
    """Write a file in place; its time moves on, however coarse the file system counts."""
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1_000_000_000))


def test_unwritten_files_are_unchanged(database: Path) -> None:
    files = DatabaseFiles(database)

    assert [files.look(), files.look(), files.is_touched] == [None, None, False]


def test_own_writes_are_expected(database: Path) -> None:
    """Between ``begin`` and ``end`` and after it, until the next look has seen them."""
    files = DatabaseFiles(database)

    files.writes += 1
    touch(wal_of(database))
    assert files.look() is None
    touch(database)
    files.written_ns = wal_of(database).stat().st_mtime_ns
    files.writes += 1
    assert files.look() is None
    assert files.look(times=True) is None

    assert not files.is_touched


def test_writes_of_others_after_own_writes_are_detected(database: Path) -> None:
    files = DatabaseFiles(database)
    files.writes += 2
    files.written_ns = wal_of(database).stat().st_mtime_ns

    touch(wal_of(database))
    files.look()
    assert not files.is_touched
    files.look(times=True)

    assert files.is_touched


@pytest.mark.parametrize("wal", [False, True])
def test_writes_of_others_are_detected(database: Path, wal: bool) -> None:
    files = DatabaseFiles(database)
    path = wal_of(database) if wal else database

    touch(path)
    assert files.look() is None
    assert files.is_touched
    files.is_touched = False
    files.look()
    assert not files.is_touched
    os.truncate(path, 10)
    files.look()

    assert files.is_touched


@pytest.mark.parametrize("wal", [False, True])
def test_removed_or_replaced_files_are_named(database: Path, wal: bool) -> None:
    files = DatabaseFiles(database)
    path = wal_of(database) if wal else database

    path.rename(path.with_name("renamed"))
    assert files.look() == f"{path}: No such file or directory"
    path.write_bytes(b"x" * 100)

    assert "this is not the file that was opened" in str(files.look())
