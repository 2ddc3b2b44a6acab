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


def test_a_missing_folder_is_made_for_its_owner_only(tmp_path: Path) -> None:
    """With its parents; a folder that exists keeps the mode that its administrator chose."""
    folder = tmp_path / "var" / "lib" / "doorkeeper"

    prepare_folder(folder)
    assert mode(folder) == 0o700
    folder.chmod(0o750)
    prepare_folder(folder)
    assert mode(folder) == 0o750


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """A data folder that is a file, or lies below a file, is refused by its name."""
    (tmp_path / "file").touch()

    for folder in (tmp_path / "file", tmp_path / "file" / "data"):
        with pytest.raises(StorageError) as raised:
            prepare_folder(folder)
        assert str(raised.value) == f"{folder}: the data folder is not a folder"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a /proc where nothing can be made")
def test_a_folder_that_cannot_be_made_is_refused() -> None:
    """Where the system makes no folders, the error names the folder and the reason."""
    folder = Path("/proc/doorkeeper-data")

    with pytest.raises(StorageError, match="cannot make the data folder: No such file"):
        prepare_folder(folder)


def test_a_new_file_is_private_under_any_umask(tmp_path: Path) -> None:
    """A file is made with mode 0600, also where the umask would allow more."""
    old = os.umask(0)
    try:
        create_private(tmp_path / "file")
    finally:
        os.umask(old)

    assert mode(tmp_path / "file") == 0o600


def test_a_wider_file_is_narrowed_and_kept(tmp_path: Path) -> None:
    """A file that others could read becomes private, unless it is gone; its content stays."""
    path = tmp_path / "file"
    path.write_text("content")
    path.chmod(0o644)

    create_private(path)
    narrow(tmp_path / "gone")

    assert mode(path) == 0o600
    assert path.read_text() == "content"
    assert not (tmp_path / "gone").exists()


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    """A folder in the place of the file gives its name and the reason."""
    with pytest.raises(StorageError) as raised:
        create_private(tmp_path)

    assert str(raised.value) == f"{tmp_path}: cannot open: Is a directory"


def test_removing_a_database_takes_its_companions(tmp_path: Path) -> None:
    """The database, its WAL and its shared memory go; other files stay."""
    database = tmp_path / "doorkeeper.db"
    for name in ("doorkeeper.db", "doorkeeper.db-wal", "doorkeeper.db-shm", "doorkeeper.lock"):
        (tmp_path / name).touch()
    assert [path.name for path in companions(database)] == [
        "doorkeeper.db-wal",
        "doorkeeper.db-shm",
    ]

    remove_database(database)

    assert [path.name for path in tmp_path.iterdir()] == ["doorkeeper.lock"]


def test_stamped_names_are_free(tmp_path: Path) -> None:
    """A name carries label and UTC time; a second one of the same second gets a number."""
    path = tmp_path / "doorkeeper.db"

    first = free_name(path, "v1-backup", NOW_MS)
    first.touch()
    second = free_name(path, "v1-backup", NOW_MS)

    assert first.name == "doorkeeper.db.v1-backup-20261014T174640Z"
    assert second.name == "doorkeeper.db.v1-backup-20261014T174640Z-2"
