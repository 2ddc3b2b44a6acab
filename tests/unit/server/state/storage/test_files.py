from __future__ import annotations

import os
from pathlib import Path

import pytest

from doorkeeper.server.state.storage.files import (
    companions,
    create_private,
    free_name,
    narrow,
    prepare_folder,
    remove_database,
)
from doorkeeper.server.state.store import StorageError
from testkit.stores import NOW_MS


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_missing_folder_is_created_privately(tmp_path: Path) -> None:
    folder = tmp_path / "var" / "lib" / "doorkeeper"

    prepare_folder(folder)
    assert mode(folder) == 0o700
    folder.chmod(0o750)
    prepare_folder(folder)
    assert mode(folder) == 0o750


def test_file_instead_of_folder_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    for folder in (tmp_path / "file", tmp_path / "file" / "data"):
        with pytest.raises(StorageError) as raised:
            prepare_folder(folder)
        assert str(raised.value) == f"{folder}: not a folder"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a /proc where nothing can be made")
def test_uncreatable_folder_is_rejected() -> None:
    folder = Path("/proc/doorkeeper-data")

    with pytest.raises(StorageError, match="cannot create the data folder: No such file"):
        prepare_folder(folder)


def test_new_file_is_private(tmp_path: Path) -> None:
    """A file is made with mode 0600, also where the umask would allow more."""
    old = os.umask(0)
    try:
        create_private(tmp_path / "file")
    finally:
        os.umask(old)

    assert mode(tmp_path / "file") == 0o600


def test_permissions_of_an_existing_file_are_restricted(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("content")
    path.chmod(0o644)

    create_private(path)
    narrow(tmp_path / "gone")

    assert mode(path) == 0o600
    assert path.read_text() == "content"
    assert not (tmp_path / "gone").exists()


def test_unopenable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as raised:
        create_private(tmp_path)

    assert str(raised.value) == f"{tmp_path}: cannot open: Is a directory"


def test_removing_a_database_removes_its_companions(tmp_path: Path) -> None:
    database = tmp_path / "doorkeeper.db"
    for name in ("doorkeeper.db", "doorkeeper.db-wal", "doorkeeper.db-shm", "doorkeeper.lock"):
        (tmp_path / name).touch()
    assert [path.name for path in companions(database)] == [
        "doorkeeper.db-wal",
        "doorkeeper.db-shm",
    ]

    remove_database(database)

    assert [path.name for path in tmp_path.iterdir()] == ["doorkeeper.lock"]


def test_stamped_names_are_unique(tmp_path: Path) -> None:
    path = tmp_path / "doorkeeper.db"

    first = free_name(path, "v1-backup", NOW_MS)
    first.touch()
    second = free_name(path, "v1-backup", NOW_MS)

    assert first.name == "doorkeeper.db.v1-backup-20261014T174640Z"
    assert second.name == "doorkeeper.db.v1-backup-20261014T174640Z-2"
