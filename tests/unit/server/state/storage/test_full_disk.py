"""A disk that is full, and then is not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.server.state.storage.backup import backup, restore
from doorkeeper.server.state.storage.database import check_integrity, connect_readonly
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.storage.identity import (
    IDENTITY_NAME,
    ExpectedStore,
    replace_identity_file,
)
from doorkeeper.server.state.store import StorageError
from testkit.stores import NOW_MS, adding, commit, fill, numbers_in, open_store, started_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from doorkeeper.server.state.storage.sqlite import SqliteStore

CHANGE_BINDINGS = 50


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of two megabytes."""
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("mounting a small file system needs root on Linux")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "doorkeeper-test", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


async def outcome(store: SqliteStore, *numbers: int) -> int | StorageError:
    """Add bindings; return the revision, or the error."""
    try:
        return await commit(store, adding(*numbers))
    except StorageError as error:
        return error


def numbers(change: int) -> range:
    return range(change * CHANGE_BINDINGS, (change + 1) * CHANGE_BINDINGS)


def pragma(store: SqliteStore, name: str, value: int | None = None) -> object:
    """Run a pragma on the connection of the store, as soon as its thread leaves it free."""
    while True:
        try:
            connection = store._connection
            return connection.pragma(name) if value is None else connection.pragma(name, value)
        except apsw.ThreadingViolationError:
            time.sleep(0.001)


async def test_full_disk_fails_changes_without_loss(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(512 * 1024))
    data_dir = small_disk / "data"
    store = started_store(data_dir)
    stored: list[int] = []

    change, result = 0, await outcome(store, *numbers(0))
    while isinstance(result, int):
        stored += numbers(change)
        assert result == change + 1
        change += 1
        result = await outcome(store, *numbers(change))
    answers = [await outcome(store, 10**6 + number) for number in range(5)]
    revision = change + sum(isinstance(answer, int) for answer in answers)
    (small_disk / "ballast").unlink()
    again = await outcome(store, 10**7)
    store.close()

    assert str(result) == f"{data_dir / DATABASE_NAME}: database or disk is full"
    stored += [10**6 + number for number, answer in enumerate(answers) if isinstance(answer, int)]
    assert again == revision + 1
    assert numbers_in(data_dir) == [*stored, 10**7]
    reader = connect_readonly(data_dir / DATABASE_NAME)
    check_integrity(reader, data_dir / DATABASE_NAME)
    reader.close()


async def test_full_disk_fails_a_restore_with_its_reason(small_disk: Path, tmp_path: Path) -> None:
    """At each page at which the space may end, also behind the copy."""
    data_dir, target = small_disk / "data", tmp_path / "backup"
    await fill(data_dir, adding(*range(500)))
    backup(data_dir, target)
    failures: list[str] = []

    for left_kib in range(0, 400, 12):
        status = os.statvfs(small_disk)
        with (small_disk / "ballast").open("wb") as ballast:
            ballast.write(bytes(status.f_bavail * status.f_bsize - left_kib * 1024))
        try:
            previous = restore(target, data_dir, now_ms=lambda: NOW_MS)
            assert previous is not None
            previous.unlink()
        except StorageError as error:
            failures.append(str(error))
        (small_disk / "ballast").unlink()
        assert numbers_in(data_dir) == list(range(500))

    assert failures
    assert not [text for text in failures if "not an error" in text]


async def test_full_disk_leaves_no_half_identity_file(small_disk: Path) -> None:
    """The next start would ask for a decision of the operator."""
    data_dir = small_disk / "data"
    await fill(data_dir, adding(1))
    (data_dir / IDENTITY_NAME).unlink()
    status = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(status.f_bavail * status.f_bsize))

    with pytest.raises(StorageError, match=r"doorkeeper\.identity: cannot write: No space"):
        replace_identity_file(data_dir / IDENTITY_NAME, ExpectedStore("c", "s", 1))

    (small_disk / "ballast").unlink()
    assert numbers_in(data_dir) == [1]


async def test_full_disk_fails_creation(
    small_disk: Path,
) -> None:
    data_dir = small_disk / "data"
    data_dir.mkdir()
    with (small_disk / "ballast").open("wb", buffering=0) as ballast:
        ballast.write(bytes(2 * 1024 * 1024))

    with pytest.raises(StorageError, match=r"doorkeeper\.(db|lock): .*(full|No space)"):
        open_store(data_dir)

    (small_disk / "ballast").unlink()
    open_store(data_dir).close()


async def test_database_size_limit_fails_changes_without_loss(data_dir: Path) -> None:
    """As on a full disk, by SQLite's own limit of pages, where nothing can be mounted."""
    store = started_store(data_dir)
    pages = pragma(store, "page_count")
    assert isinstance(pages, int)
    pragma(store, "max_page_count", pages + 20)

    results = [await outcome(store, *numbers(change)) for change in range(20)]
    pragma(store, "max_page_count", 10**6)
    again = await outcome(store, 10**7)
    store.close()

    good = [result for result in results if isinstance(result, int)]
    assert 0 < len(good) < 20
    assert good == list(range(1, len(good) + 1))
    assert {str(result) for result in results[len(good) :]} == {
        f"{data_dir / DATABASE_NAME}: database or disk is full"
    }
    assert again == len(good) + 1
    assert len(numbers_in(data_dir)) == len(good) * CHANGE_BINDINGS + 1
