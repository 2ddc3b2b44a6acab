"""A store that is lost, replaced or set back: refused at the start, noticed while it runs."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from typing import TYPE_CHECKING

import apsw
import pytest
from structlog.testing import capture_logs

from doorkeeper.server.schema.change import SERVER
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.storage import digest, schema, sqlite
from doorkeeper.server.state.storage.files import DATABASE_NAME, LOCK_NAME
from doorkeeper.server.state.storage.files import remove_database as remove
from doorkeeper.server.state.storage.identity import IDENTITY_NAME, read_expected_store
from doorkeeper.server.state.store import OutcomeUnknown, StorageError, StoreReplaced
from testkit.stores import adding, append, commit, fill, numbers_in, open_store, started_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from doorkeeper.server.state.storage.sqlite import SqliteStore

WAL_NAME = f"{DATABASE_NAME}-wal"

UNIX = apsw.vfs_names()[0]
"""SQLite's default interface to files."""


async def killed(data_dir: Path, *numbers: int) -> None:
    """Leave a store as a process leaves it that is killed: its last changes are in the WAL."""
    copy = data_dir.with_name("killed")
    store = started_store(data_dir)
    for number in numbers:
        await commit(store, adding(number))
    shutil.copytree(data_dir, copy)
    store.close()
    shutil.rmtree(data_dir)
    copy.rename(data_dir)
    (data_dir / f"{DATABASE_NAME}-shm").unlink()


def overwrite(path: Path, start: int, octets: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(octets)
    # Kernels before Linux 6.13 stamp files in steps of some milliseconds.
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1_000_000_000))


# --- at rest


async def test_killed_store_opens(data_dir: Path) -> None:
    await killed(data_dir, 1, 2, 3)

    assert numbers_in(data_dir) == [1, 2, 3]
    assert read_expected_store(data_dir / IDENTITY_NAME)[2] == 3  # type: ignore[index]


def other_store(data_dir: Path) -> None:
    """Put a new store in the place of the old one."""
    for each in data_dir.glob(f"{DATABASE_NAME}*"):
        each.unlink()
    other = data_dir.with_name("other")
    open_store(other).close()
    shutil.copy(other / DATABASE_NAME, data_dir / DATABASE_NAME)


def remove_database(data_dir: Path) -> None:
    remove(data_dir / DATABASE_NAME)


LOST_AT_REST: dict[str, tuple[Callable[[Path], None], str]] = {
    "database removed": (lambda at: (at / DATABASE_NAME).unlink(), "no store is here"),
    "database and WAL removed": (remove_database, "no store is here"),
    "database emptied": (lambda at: os.truncate(at / DATABASE_NAME, 0), "no store is here"),
    "WAL removed": (lambda at: (at / WAL_NAME).unlink(), "no store is here"),
    "WAL emptied": (lambda at: os.truncate(at / WAL_NAME, 0), "no store is here"),
    "WAL damaged": (
        lambda at: overwrite(at / WAL_NAME, (at / WAL_NAME).stat().st_size - 2000, b"x" * 100),
        "at revision 2",
    ),
    "WAL truncated": (
        lambda at: os.truncate(at / WAL_NAME, (at / WAL_NAME).stat().st_size - 4000),
        "at revision 2",
    ),
    "another store": (other_store, "this is store"),
}


@pytest.mark.parametrize("case", LOST_AT_REST)
async def test_lost_store_is_rejected(data_dir: Path, case: str) -> None:
    await killed(data_dir, 1, 2, 3)
    kept = shutil.copytree(data_dir, data_dir.with_name("kept"))
    lose, text = LOST_AT_REST[case]
    lose(data_dir)

    for _ in range(2):
        with pytest.raises(StoreReplaced, match=text) as caught:
            open_store(data_dir)
        assert "\n" not in str(caught.value)

    shutil.rmtree(data_dir)
    kept.rename(data_dir)
    assert numbers_in(data_dir) == [1, 2, 3]


async def test_older_copy_is_rejected_until_accepted(data_dir: Path) -> None:
    await fill(data_dir, adding(1))
    old = shutil.copy(data_dir / DATABASE_NAME, data_dir.with_name("old.db"))
    await fill(data_dir, adding(2))
    shutil.copy(old, data_dir / DATABASE_NAME)

    with pytest.raises(StoreReplaced, match=r"at revision 1, but .* at revision 2 or later"):
        open_store(data_dir)
    (data_dir / IDENTITY_NAME).unlink()

    assert numbers_in(data_dir) == [1]
    assert str(read_expected_store(data_dir / IDENTITY_NAME)).endswith("at revision 1")


DAMAGED_AT_REST: dict[str, Callable[[Path], None]] = {
    "header corrupted": lambda path: overwrite(path, 100, b"x" * 20_000),
    "page corrupted": lambda path: overwrite(path, 5000, b"x" * 20_000),
    "first page truncated": lambda path: os.truncate(path, 100),
    "truncated": lambda path: os.truncate(path, 40_960),
}


@pytest.mark.parametrize("case", DAMAGED_AT_REST)
async def test_damaged_database_is_rejected(data_dir: Path, case: str) -> None:
    await fill(data_dir, adding(*range(1000)))
    path = data_dir / DATABASE_NAME
    DAMAGED_AT_REST[case](path)
    size = path.stat().st_size

    with pytest.raises(StorageError, match=r"doorkeeper\.db: "):
        numbers_in(data_dir)

    assert path.stat().st_size == size


async def test_linked_database_is_rejected(data_dir: Path) -> None:
    """The lock of the other folder would not be seen."""
    await fill(data_dir, adding(1))
    other = data_dir.with_name("other")
    other.mkdir()
    (other / DATABASE_NAME).symlink_to(data_dir / DATABASE_NAME)

    with pytest.raises(StorageError, match="db: cannot open: this is a symbolic link, and must"):
        open_store(other)

    assert numbers_in(data_dir) == [1]


def test_wal_without_database_is_rejected(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / WAL_NAME).write_bytes(b"x" * 4096)

    with pytest.raises(StoreReplaced, match=r"is missing, but doorkeeper\.db-wal exists"):
        open_store(data_dir)

    assert (data_dir / WAL_NAME).exists()


def test_external_identity_file_detects_a_missing_folder(data_dir: Path) -> None:
    identity_file = data_dir.with_name("identity")
    open_store(data_dir, identity_file=identity_file).close()
    shutil.rmtree(data_dir)

    with pytest.raises(StoreReplaced, match="no store is here"):
        open_store(data_dir, identity_file=identity_file)

    assert not data_dir.exists()


def test_store_is_created_only_if_allowed(data_dir: Path) -> None:
    with pytest.raises(StorageError, match="doorkeeper store create"):
        open_store(data_dir, create=False)
    assert not data_dir.exists()
    open_store(data_dir).close()

    open_store(data_dir, create=False).close()


# --- while it runs


def remove_folder(data_dir: Path) -> None:
    shutil.rmtree(data_dir)


def rename_folder(data_dir: Path) -> None:
    data_dir.rename(data_dir.with_name("renamed"))


def replace_folder(data_dir: Path) -> None:
    copy = shutil.copytree(data_dir, data_dir.with_name("copy"))
    data_dir.rename(data_dir.with_name("renamed"))
    copy.rename(data_dir)


def replace_database(data_dir: Path) -> None:
    shutil.copy(data_dir / DATABASE_NAME, data_dir / "copy.db")
    (data_dir / "copy.db").replace(data_dir / DATABASE_NAME)


def overwrite_database(data_dir: Path) -> None:
    other = data_dir.with_name("other")
    open_store(other).close()
    shutil.copy(other / DATABASE_NAME, data_dir / DATABASE_NAME)


def other_revision(data_dir: Path) -> None:
    """Change the store as a process does that has not seen the lock."""
    connection = apsw.Connection(str(data_dir / DATABASE_NAME))
    append(connection, adding(5000), schema.last_revision(connection) + 1)
    digest.write_anew(connection)
    connection.close()


LOST_WHILE_RUNNING: dict[str, Callable[[Path], object]] = {
    "folder removed": remove_folder,
    "folder renamed": rename_folder,
    "folder replaced by a copy": replace_folder,
    "database removed": lambda at: (at / DATABASE_NAME).unlink(),
    "database replaced by a copy": replace_database,
    "database overwritten by another": overwrite_database,
    "database truncated": lambda at: os.truncate(at / DATABASE_NAME, 4096),
    "database corrupted": lambda at: overwrite(at / DATABASE_NAME, 4096, b"x" * 30_000),
    "WAL removed": lambda at: (at / WAL_NAME).unlink(),
    "WAL replaced by a copy": lambda at: (
        shutil.copy(at / WAL_NAME, at / "copy"),
        (at / "copy").replace(at / WAL_NAME),
    ),
    "WAL emptied": lambda at: os.truncate(at / WAL_NAME, 0),
    "WAL truncated": lambda at: os.truncate(at / WAL_NAME, 5000),
    "revision of another process": other_revision,
    "WAL corrupted": lambda at: overwrite(at / WAL_NAME, 32, b"x" * 30_000),
}


async def running(data_dir: Path) -> SqliteStore:
    """Return a started store with rows in its database and in its WAL."""
    await fill(data_dir, adding(*range(1000)))
    store = started_store(data_dir)
    await commit(store, adding(*range(1000, 1100)))
    return store


@pytest.mark.parametrize("case", LOST_WHILE_RUNNING)
async def test_lost_store_acknowledges_no_change(
    data_dir: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "QUIET_S", 0.02)
    store = await running(data_dir)
    await asyncio.sleep(2 * sqlite.QUIET_S)  # so much later the time of the WAL is known
    LOST_WHILE_RUNNING[case](data_dir)

    with capture_logs() as lines:
        with pytest.raises(StoreReplaced):
            await commit(store, adding(2000))
        with pytest.raises(StoreReplaced) as caught:
            await commit(store, adding(2001))

    assert store.unavailable == str(caught.value)
    assert "\n" not in store.unavailable
    for words in (str(data_dir), "doorkeeper store restore FILE", "doorkeeper store accept"):
        assert words in store.unavailable
    assert [line["event"] for line in lines] == ["the store was replaced"]
    store.close()


async def test_loss_during_a_commit_leaves_its_outcome_unknown(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction is in files that an operator may bring back."""
    await fill(data_dir, adding(*range(10)))
    store = open_store(data_dir)
    log = StateLog(store)
    await log.start()
    look = store._look

    def lost_behind_the_commit(**how: bool) -> None:
        looks.append(how)
        # Before the transaction, and behind it.
        if len(looks) == 2:
            rename_folder(data_dir)
        look(**how)

    looks: list[object] = []
    monkeypatch.setattr(store, "_look", lost_behind_the_commit)
    change, behind = adding(2000), adding(2001)

    with capture_logs(), pytest.raises(OutcomeUnknown):
        await log.submit(lambda _: (change, None), SERVER)
    with capture_logs(), pytest.raises(StoreReplaced):
        await log.submit(lambda _: (behind, None), SERVER)
    await log.aclose()


class SyncingFile(apsw.VFSFile):
    """A file of the file system below, whose syncs may fail."""

    fails = False

    def xSync(self, flags: int) -> None:  # noqa: N802 - the name of SQLite
        if SyncingFile.fails:
            error = apsw.IOError("disk I/O error")
            error.extendedresult = apsw.SQLITE_IOERR_FSYNC  # type: ignore[attr-defined]
            raise error
        super().xSync(flags)


class SyncingVfs(apsw.VFS):
    """The file system below, with such files."""

    def __init__(self) -> None:
        super().__init__("syncing", UNIX, makedefault=True)

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> SyncingFile:  # noqa: N802
        return SyncingFile(UNIX, name, flags)


@pytest.fixture
def syncing_vfs() -> Iterator[None]:
    """Let syncs fail while ``SyncingFile.fails`` is set."""
    vfs = SyncingVfs()
    yield
    SyncingFile.fails = False
    vfs.unregister()
    apsw.set_default_vfs(UNIX)


@pytest.mark.usefixtures("syncing_vfs")
async def test_failed_sync_leaves_the_outcome_unknown(data_dir: Path) -> None:
    """The change is in the WAL, where the next start may find it: nobody is told that it is not."""
    log = StateLog(open_store(data_dir))
    await log.start()
    before, change, behind = adding(1), adding(2), adding(3)
    await log.submit(lambda _: (before, None), SERVER)

    SyncingFile.fails = True
    with capture_logs() as lines, pytest.raises(OutcomeUnknown):
        await log.submit(lambda _: (change, None), SERVER)
    shutil.copytree(data_dir, data_dir.with_name("killed"))
    SyncingFile.fails = False
    with capture_logs(), pytest.raises(StoreReplaced, match="SQLITE_IOERR_FSYNC"):
        await log.submit(lambda _: (behind, None), SERVER)
    await log.aclose()

    assert "the store was replaced" in [line["event"] for line in lines]
    assert numbers_in(data_dir.with_name("killed")) == [1, 2]


@pytest.mark.parametrize("case", ["folder removed", "database corrupted", "WAL emptied"])
async def test_loss_is_detected_without_a_change(
    data_dir: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "IDLE_S", 0.01)
    store = await running(data_dir)
    noticed = threading.Event()
    lose = store._lose

    def note(problem: str) -> None:
        lose(problem)
        noticed.set()

    store._lose = note  # type: ignore[method-assign]
    LOST_WHILE_RUNNING[case](data_dir)

    assert await asyncio.to_thread(noticed.wait, 60)
    assert store.unavailable is not None
    store.close()


async def test_close_keeps_the_present_store(data_dir: Path) -> None:
    store = await running(data_dir)
    replace_folder(data_dir)

    with pytest.raises(StoreReplaced):
        await commit(store, adding(2000))
    store.close()
    (data_dir / LOCK_NAME).unlink()

    assert len(numbers_in(data_dir)) == 1100


async def test_foreign_checkpoint_is_allowed(data_dir: Path) -> None:
    store = await running(data_dir)
    other = apsw.Connection(str(data_dir / DATABASE_NAME))
    assert other.execute("SELECT count(*) FROM item").get  # it opens the WAL
    other.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    other.close()
    assert (data_dir / WAL_NAME).stat().st_size == 0

    assert await commit(store, adding(2000)) == 3

    assert store.unavailable is None
    store.close()
    assert len(numbers_in(data_dir)) == 1101


async def test_identity_file_has_the_acknowledged_revision(data_dir: Path) -> None:
    store = started_store(data_dir)

    for revision in (1, 2, 3):
        assert await commit(store, adding(revision)) == revision
        pin = read_expected_store(data_dir / IDENTITY_NAME)
        assert pin is not None
        assert pin.revision == revision
        assert pin[:2] == store.identity[:2]
    store.close()


async def test_node_continues_with_its_state(data_dir: Path) -> None:
    await fill(data_dir, adding(1, 2))
    log = StateLog(open_store(data_dir))
    await log.start()
    before = log.state
    shutil.rmtree(data_dir)

    for number in (3, 4):
        with pytest.raises(StoreReplaced):
            await log.submit(lambda _, number=number: (adding(number), None), SERVER)  # type: ignore[misc]

    assert log.state is before
    assert not log.status().reachable
    await log.aclose()
