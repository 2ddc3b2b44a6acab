"""The embedded store as one end of a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest
from msgspec.structs import replace

from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.storage.portable_embedded import reading, write
from doorkeeper.server.state.store import StorageError
from testkit.portables import Held, fill_fully
from testkit.stores import NOW_MS, adding, fill, numbers_in, open_store

if TYPE_CHECKING:
    from pathlib import Path


async def held(data_dir: Path) -> Held:
    async with reading(data_dir, alone=True) as store:
        return await Held.of(store)


async def test_written_store_is_read_back(data_dir: Path, tmp_path: Path) -> None:
    await fill_fully(data_dir)
    before = await held(data_dir)
    target = tmp_path / "target"

    aside = await write(target, before.kept, before.rows, now_ms=NOW_MS, overwrite=False)

    after = await held(target)
    assert aside is None
    assert after.tables == before.tables
    assert after.kept == replace(before.kept, store_id=after.kept.store_id)
    assert after.kept.store_id != before.kept.store_id
    assert (target / DATABASE_NAME).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in target.iterdir() if "copied" in path.name] == []
    await fill(target, adding(100))
    assert numbers_in(target)[-1] == 100


async def test_store_in_use_is_not_copied(data_dir: Path, tmp_path: Path) -> None:
    await fill_fully(data_dir)
    before = await held(data_dir)
    target = open_store(tmp_path / "target")
    source = open_store(data_dir)

    with pytest.raises(StorageError, match="in use"):
        await held(data_dir)
    for overwrite in (True, False):
        with pytest.raises(StorageError, match="in use"):
            await write(
                tmp_path / "target", before.kept, before.rows, now_ms=NOW_MS, overwrite=overwrite
            )
    async with reading(data_dir, alone=False) as store:
        assert await store.header() == before.kept
    source.close()
    target.close()


async def test_copy_overwrites_only_on_request(data_dir: Path, tmp_path: Path) -> None:
    await fill_fully(data_dir)
    before = await held(data_dir)
    full, empty = tmp_path / "full", tmp_path / "empty"
    await fill(full, adding(1))
    open_store(empty).close()

    with pytest.raises(StorageError, match="not empty"):
        await write(full, before.kept, before.rows, now_ms=NOW_MS, overwrite=False)
    assert numbers_in(full) == [1]
    aside = await write(full, before.kept, before.rows, now_ms=NOW_MS, overwrite=True)
    await write(empty, before.kept, before.rows, now_ms=NOW_MS, overwrite=False)

    assert aside is not None
    assert "before-restore" in aside
    assert numbers_in(full) == numbers_in(empty)


async def test_failed_copy_keeps_the_store(data_dir: Path, tmp_path: Path) -> None:
    await fill_fully(data_dir)
    before = await held(data_dir)
    before.tables["item"].append(before.tables["item"][0])
    target = tmp_path / "target"
    await fill(target, adding(1))

    with pytest.raises(StorageError, match="UNIQUE"):
        await write(target, before.kept, before.rows, now_ms=NOW_MS, overwrite=True)

    assert numbers_in(target) == [1]
    assert sorted(path.name for path in target.iterdir()) == [
        DATABASE_NAME,
        "doorkeeper.identity",
        "doorkeeper.lock",
    ]


async def test_unreadable_store_is_an_error(data_dir: Path) -> None:
    with pytest.raises(StorageError, match="found no store"):
        await held(data_dir)
    open_store(data_dir).close()
    connection = apsw.Connection(str(data_dir / DATABASE_NAME))
    connection.execute("UPDATE meta SET value = 2 WHERE key = 'schema_version'")
    connection.close()
    with pytest.raises(StorageError, match="schema version 2, made by a newer Doorkeeper"):
        await held(data_dir)


async def test_damage_is_a_finding(data_dir: Path) -> None:
    """What SQLite's own check says is told; a sound file has no findings."""
    await fill_fully(data_dir)
    async with reading(data_dir, alone=False) as store:
        assert await store.findings() == []
    connection = apsw.Connection(str(data_dir / DATABASE_NAME))
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'item'")
    connection.close()

    async with reading(data_dir, alone=False) as store:
        assert "damaged" in (await store.findings())[0]
