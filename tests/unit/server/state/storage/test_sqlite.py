from __future__ import annotations

import asyncio
import gc
import os
import threading
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL, CREDENTIAL, KINDS, TOKEN, TOPIC
from doorkeeper.server.state.storage.files import DATABASE_NAME, LOCK_NAME
from doorkeeper.server.state.storage.identity import IDENTITY_NAME
from doorkeeper.server.state.store import StorageError
from testkit.load import scaled
from testkit.stores import (
    NOW_MS,
    adding,
    binding,
    commit,
    credential,
    fill,
    open_store,
    query,
    removing,
    started_store,
    token,
    topic,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_new_store_is_empty(data_dir: Path) -> None:
    """No rows of any kind, revision 0; the folder and its files are for the owner only."""
    store = open_store(data_dir)

    assert [list(store.rows(kind)) for kind in KINDS.values()] == [[]] * len(KINDS)
    assert store.revision == 0
    assert store.unavailable is None
    assert data_dir.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in data_dir.iterdir()} == {0o600}
    store.close()


async def test_acknowledged_changes_survive_reopening(data_dir: Path) -> None:
    changes = (
        adding(1, 2, 3),
        removing(2),
        edit(TOPIC, set=(topic("b"), topic("a", 12), topic("c"))),
        edit(TOPIC, deleted=(topic("b"),)),
        edit(TOPIC, set=(topic("b", 7),)),
        edit(CREDENTIAL, set=(credential("alice"),)) | edit(TOKEN, set=(token("t"),)),
    )
    await fill(data_dir, *changes)

    store = open_store(data_dir)

    assert set(store.rows(ACL)) == {binding(1), binding(3)}
    assert list(store.rows(TOPIC)) == [topic("a", 12), topic("b", 7), topic("c")]
    assert list(store.rows(CREDENTIAL)) == [credential("alice")]
    assert list(store.rows(TOKEN)) == [token("t")]
    assert store.revision == 6
    store.close()


async def test_revisions_continue_after_reopening(data_dir: Path) -> None:
    await fill(data_dir, adding(1), removing(1))

    store = started_store(data_dir)

    assert store.revision == 2
    assert await commit(store, adding(2)) == 3
    store.close()


def test_identities_are_created_once(data_dir: Path) -> None:
    """Ids of 22 characters and a secret, from the random bytes; the same at every start."""
    first = open_store(data_dir, random_bytes=lambda count: bytes([4]) * count)
    first.close()
    second = open_store(data_dir)
    second.close()
    other = open_store(data_dir / "other", random_bytes=os.urandom)
    other.close()

    assert first.identity == second.identity
    assert first.identity == ("BAQEBAQERASEBAQEBAQEBA", "BAQEBAQERASEBAQEBAQEBA", b"\4" * 32)
    assert not set(other.identity) & set(first.identity)


def test_store_in_use_is_rejected(data_dir: Path) -> None:
    store = open_store(data_dir)

    with pytest.raises(StorageError) as raised:
        open_store(data_dir)

    expected = f"{data_dir / LOCK_NAME}: the store is in use by process {os.getpid()}"
    assert str(raised.value) == expected
    store.close()
    open_store(data_dir).close()


def test_failed_opening_leaves_no_lock(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / DATABASE_NAME).write_bytes(b"not a database at all" * 100)

    for _ in range(2):
        with pytest.raises(StorageError, match=r"doorkeeper\.db: file is not a database"):
            open_store(data_dir)


def test_interrupted_creation_is_repeated(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / DATABASE_NAME).touch()

    store = open_store(data_dir)

    assert store.revision == 0
    store.close()


async def test_closed_store_is_one_file(data_dir: Path) -> None:
    store = started_store(data_dir)
    await commit(store, adding(1))
    assert (data_dir / "doorkeeper.db-wal").stat().st_size > 0

    store.close()
    await store.aclose()
    open_store(data_dir).close()

    names = sorted(path.name for path in data_dir.iterdir())
    assert names == [DATABASE_NAME, IDENTITY_NAME, LOCK_NAME]


async def test_closed_store_rejects_changes(data_dir: Path) -> None:
    store = started_store(data_dir)
    store.close()

    with pytest.raises(StorageError, match=r"doorkeeper\.db: the store is closed"):
        await commit(store, adding(1))


async def test_log_is_pruned_while_idle(data_dir: Path) -> None:
    await fill(data_dir, adding(1), adding(2), adding(3))
    asked = threading.Event()

    def clock() -> int:
        asked.set()
        return NOW_MS + 10 * 86_400_000

    store = open_store(data_dir, now_ms=clock, retention_days=5)
    asked.clear()
    store.start(asyncio.get_running_loop())
    assert asked.wait(scaled(60))  # the writer is idle and asks what is old
    store.close()

    assert query(data_dir, "SELECT revision FROM change_log") == [(3,)]
    assert query(data_dir, "SELECT count(*) FROM item") == [(3,)]


async def test_loading_restores_the_garbage_collector(data_dir: Path) -> None:
    await fill(data_dir, adding(1, 2))
    store = open_store(data_dir)

    reading = store.rows(ACL)
    next(reading)
    assert not gc.isenabled()
    reading.close()  # type: ignore[attr-defined]

    assert gc.isenabled()
    store.close()
