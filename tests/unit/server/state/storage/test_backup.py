from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.server.state.storage.backup import backup, restore
from doorkeeper.server.state.storage.database import connect_readonly
from doorkeeper.server.state.storage.files import DATABASE_NAME, LOCK_NAME
from doorkeeper.server.state.storage.identity import IDENTITY_NAME
from doorkeeper.server.state.store import StorageError
from testkit.stores import (
    NOW_MS,
    adding,
    commit,
    fill,
    numbers_in,
    open_store,
    started_store,
)

if TYPE_CHECKING:
    from pathlib import Path

BACKUP = """
import sys
from pathlib import Path
from doorkeeper.server.state.storage.backup import backup
backup(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def now_ms() -> int:
    return NOW_MS


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "doorkeeper.backup"


async def test_backup_of_a_running_store(data_dir: Path, target: Path) -> None:
    store = started_store(data_dir)
    await commit(store, adding(1, 2))

    subprocess.run([sys.executable, "-c", BACKUP, str(data_dir), str(target)], check=True)
    result = await commit(store, adding(3))
    store.close()

    assert result == 2
    assert target.stat().st_mode & 0o777 == 0o600
    other = data_dir.with_name("other")
    assert restore(target, other, now_ms=now_ms) is None
    assert numbers_in(other) == [1, 2]
    restored = open_store(other)
    assert restored.identity == store.identity._replace(store_id=restored.identity.store_id)
    assert restored.identity.store_id != store.identity.store_id
    restored.close()


async def test_backup_overwrites_only_on_request(data_dir: Path, target: Path) -> None:
    await fill(data_dir, adding(1))
    target.write_text("yesterday")

    with pytest.raises(StorageError, match=r"doorkeeper\.backup: the file exists"):
        backup(data_dir, target)
    assert target.read_text() == "yesterday"
    with pytest.raises(StorageError, match="this is the store itself"):
        backup(data_dir, data_dir / DATABASE_NAME, overwrite=True)
    store = open_store(data_dir)
    with pytest.raises(StorageError, match="this is the store itself"):
        backup(data_dir, data_dir / f"{DATABASE_NAME}-wal", overwrite=True)
    # Without its lock, a running store has a second writer.
    for name in (LOCK_NAME, IDENTITY_NAME):
        with pytest.raises(StorageError, match="this is the store itself"):
            backup(data_dir, data_dir / name, overwrite=True)
    store.close()

    backup(data_dir, target, overwrite=True)
    assert target.read_bytes().startswith(b"SQLite format 3\0")


async def test_backup_requires_a_store_and_a_file_name(data_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="data: found no store"):
        backup(data_dir, tmp_path / "backup")
    assert not data_dir.exists()
    await fill(data_dir, adding(1))

    with pytest.raises(StorageError, match="found a folder; expected: a file"):
        backup(data_dir, tmp_path)
    with pytest.raises(StorageError, match="nowhere: no such folder"):
        backup(data_dir, tmp_path / "nowhere" / "backup")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError, match="found a device or a pipe; expected: a file"):
        backup(data_dir, tmp_path / "pipe", overwrite=True)


async def test_restore_keeps_the_previous_store(data_dir: Path, target: Path) -> None:
    await fill(data_dir, adding(1))
    backup(data_dir, target)
    await fill(data_dir, adding(2), adding(3))

    aside = restore(target, data_dir, now_ms=now_ms)

    assert numbers_in(data_dir) == [1]
    assert aside == data_dir / "doorkeeper.db.before-restore-20261014T174640Z"
    assert (data_dir / DATABASE_NAME).stat().st_mode & 0o777 == 0o600
    other = data_dir.with_name("other")
    restore(aside, other, now_ms=now_ms)
    assert numbers_in(other) == [1, 2, 3]
    store = open_store(data_dir)
    assert store.revision == 1
    store.close()


async def test_remains_of_a_killed_process_of_the_same_id_are_no_obstacle(
    data_dir: Path, target: Path
) -> None:
    """In a container the process id is mostly the same."""
    await fill(data_dir, adding(1))
    for path in (target, data_dir / DATABASE_NAME):
        for label in ("partial", "copied"):
            path.with_name(f".{path.name}.{label}-{os.getpid()}").touch()

    backup(data_dir, target)
    restore(target, data_dir, now_ms=now_ms)

    assert numbers_in(data_dir) == [1]


async def test_wal_of_a_killed_store_is_not_restored(data_dir: Path, target: Path) -> None:
    await fill(data_dir, adding(1))
    backup(data_dir, target)
    store = started_store(data_dir)
    await commit(store, adding(2))
    killed = data_dir.with_name("killed")
    shutil.copytree(data_dir, killed)
    store.close()
    assert (killed / "doorkeeper.db-wal").stat().st_size > 0

    aside = restore(target, killed, now_ms=now_ms)

    assert numbers_in(killed) == [1]
    assert aside is not None
    assert not aside.with_name(aside.name + "-wal").exists()
    restore(aside, data_dir.with_name("other"), now_ms=now_ms)
    assert numbers_in(data_dir.with_name("other")) == [1, 2]


async def test_damaged_store_is_replaced_and_kept(data_dir: Path, target: Path) -> None:
    await fill(data_dir, adding(1))
    backup(data_dir, target)
    (data_dir / DATABASE_NAME).write_bytes(b"scrambled" * 1000)

    aside = restore(target, data_dir, now_ms=now_ms)

    assert numbers_in(data_dir) == [1]
    assert aside is not None
    assert aside.read_bytes() == b"scrambled" * 1000


async def test_wal_in_use_is_moved_with_its_store(data_dir: Path, target: Path) -> None:
    await fill(data_dir, adding(1))
    backup(data_dir, target)
    store = started_store(data_dir)
    reader = connect_readonly(data_dir / DATABASE_NAME)
    reader.execute("BEGIN; SELECT count(*) FROM item")
    await commit(store, adding(*range(2, 1000)))
    store.close()

    aside = restore(target, data_dir, now_ms=now_ms)
    reader.close()

    assert numbers_in(data_dir) == [1]
    assert aside is not None
    restore(aside, data_dir.with_name("other"), now_ms=now_ms)
    assert numbers_in(data_dir.with_name("other")) == list(range(1, 1000))


async def test_restore_requires_a_stopped_server(data_dir: Path, target: Path) -> None:
    await fill(data_dir, adding(1))
    backup(data_dir, target)
    store = open_store(data_dir)

    with pytest.raises(StorageError, match=f"the store is in use by process {os.getpid()}"):
        restore(target, data_dir, now_ms=now_ms)

    store.close()
    assert sorted(path.name for path in data_dir.iterdir()) == [
        "doorkeeper.db",
        "doorkeeper.identity",
        "doorkeeper.lock",
    ]


async def test_damaged_backup_is_rejected(data_dir: Path, target: Path) -> None:
    await fill(data_dir, adding(*range(3000)))
    backup(data_dir, target)
    content = bytearray(target.read_bytes())
    content[40_960:81_920] = os.urandom(40_960)
    target.write_bytes(content)

    with pytest.raises(StorageError, match=r"doorkeeper\.backup: "):
        restore(target, data_dir, now_ms=now_ms)

    assert len(numbers_in(data_dir)) == 3000


def test_backup_of_a_newer_version_is_rejected(data_dir: Path, target: Path) -> None:
    open_store(data_dir.with_name("newer")).close()
    shutil.copy(data_dir.with_name("newer") / DATABASE_NAME, target)
    newer = apsw.Connection(str(target))
    newer.execute("UPDATE meta SET value = 7 WHERE key = 'schema_version'")
    newer.close()

    with pytest.raises(StorageError, match="schema version 7, made by a newer Doorkeeper"):
        restore(target, data_dir, now_ms=now_ms)

    assert not data_dir.exists()


def test_restore_requires_a_backup(data_dir: Path, target: Path) -> None:
    with pytest.raises(StorageError, match="no such file"):
        restore(target, data_dir, now_ms=now_ms)
    target.touch()
    with pytest.raises(StorageError, match="the store is empty"):
        restore(target, data_dir, now_ms=now_ms)
    open_store(data_dir).close()
    with pytest.raises(StorageError, match="this is the store itself"):
        restore(data_dir / DATABASE_NAME, data_dir, now_ms=now_ms)


async def test_restored_store_is_accepted(data_dir: Path, target: Path) -> None:
    await fill(data_dir, adding(1))
    backup(data_dir, target)
    await fill(data_dir, adding(2))
    identity_file = data_dir.with_name("identity")

    restore(target, data_dir, now_ms=now_ms)
    assert numbers_in(data_dir) == [1]

    restore(target, data_dir, now_ms=now_ms, identity_file=identity_file)
    one, other = (data_dir / "doorkeeper.identity").read_text(), identity_file.read_text()
    assert one.splitlines()[0] == other.splitlines()[0]
    assert one.splitlines()[1] != other.splitlines()[1]
