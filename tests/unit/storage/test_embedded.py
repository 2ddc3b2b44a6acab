from __future__ import annotations

import asyncio
import gc
import os
import threading
from pathlib import Path

import pytest

from doorkeeper.storage.contract import Author, Change, StorageError
from doorkeeper.storage.files import DATABASE_NAME, LOCK_NAME
from doorkeeper.version import __version__
from testkit.stores import (
    AUTHOR,
    NOW_MS,
    adding,
    binding,
    credential,
    fill,
    open_store,
    plan,
    query,
    removing,
    started_store,
    submitting,
    token,
    topic,
)


def test_a_new_store_is_empty(data_dir: Path) -> None:
    """No bindings, no topics, revision 0; the folder and its files are for the owner only."""
    store = open_store(data_dir)

    assert list(store.bindings()) == []
    assert list(store.topics()) == []
    assert store.revision == 0
    assert data_dir.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in data_dir.iterdir()} == {0o600}
    store.close()


async def test_what_was_acknowledged_is_there_after_reopening(data_dir: Path) -> None:
    """Bindings with their ids, topics with their configs, and the revision."""
    changes = (
        adding(1, 2, 3),
        removing(2),
        Change(author=AUTHOR, topics_added=(topic("b"), topic("a", 12), topic("c"))),
        Change(author=AUTHOR, topics_removed=("b",)),
        Change(author=AUTHOR, topics_added=(topic("b", 7),)),
        Change(author=AUTHOR, credentials_set=(credential("alice"),), tokens_set=(token("t"),)),
    )
    await fill(data_dir, *changes)

    store = open_store(data_dir)

    assert set(store.bindings()) == {binding(1), binding(3)}
    assert list(store.topics()) == [topic("a", 12), topic("b", 7), topic("c")]
    assert list(store.credentials()) == [credential("alice")]
    assert list(store.tokens()) == [token("t")]
    assert store.revision == 6
    store.close()


async def test_revisions_go_on_after_reopening(data_dir: Path) -> None:
    """The first change after a start has the next number, also when the last one removed all."""
    await fill(data_dir, adding(1), removing(1))

    store = started_store(data_dir)

    assert await submitting(store, adding(2)) == 3
    assert store.revision == 3
    store.close()


async def test_one_request_is_one_revision(data_dir: Path) -> None:
    """A change of many items is one revision with a row for each in the change log."""
    author = Author("User:ann", "2001:db8:0:0:0:0:0:1", "SASL_PLAINTEXT", "")
    change = Change(
        author=author, bindings_added=(binding(1), binding(2)), topics_added=(topic("t"),)
    )
    await fill(data_dir, change)

    rows = query(
        data_dir,
        "SELECT revision, item, kind, time_ms, author_principal, author_host, author_listener,"
        " author_client_id, name FROM change_log ORDER BY revision, item",
    )

    assert rows == [
        (1, 0, 1, NOW_MS, *author, "name-0"),
        (1, 1, 1, NOW_MS, *author, "name-0"),
        (1, 2, 3, NOW_MS, *author, "t"),
    ]


async def test_the_revision_is_the_one_delivered(data_dir: Path) -> None:
    """Inside a callback the store's revision is the one of the callback's result."""
    store = started_store(data_dir)
    seen: list[tuple[object, int]] = []

    store.submit(plan(adding(1)), lambda result: seen.append((result, store.revision)))
    store.submit(plan(adding(2)), lambda result: seen.append((result, store.revision)))
    await submitting(store, Change(author=AUTHOR))
    store.close()

    assert seen == [(1, 1), (2, 2)]
    assert store.revision == 2


def test_the_cluster_id_is_made_once(data_dir: Path) -> None:
    """22 characters from the random bytes given; the same one at every start."""
    first = open_store(data_dir, random_bytes=lambda count: bytes([4]) * count)
    first.close()

    second = open_store(data_dir)

    assert first.cluster_id == second.cluster_id == "BAQEBAQERASEBAQEBAQEBA"
    second.close()


def test_the_salt_key_is_made_once(data_dir: Path) -> None:
    """It stays over restarts, and each store has its own."""
    first = open_store(data_dir)
    first.close()
    second = open_store(data_dir)
    second.close()
    other = open_store(data_dir / "other", random_bytes=os.urandom)
    other.close()

    assert first.salt_key == second.salt_key
    assert len(first.salt_key) == len(other.salt_key) == 32
    assert first.salt_key != other.salt_key


def test_a_given_cluster_id_is_kept_and_compared(data_dir: Path) -> None:
    """A new store takes it; an old one opens with the same or with none, not with another."""
    given = "MkU3OEVBNTcwNTJENDM2Qg"
    open_store(data_dir, cluster_id=given).close()
    open_store(data_dir, cluster_id=given).close()

    with pytest.raises(StorageError) as raised:
        open_store(data_dir, cluster_id="BAQEBAQERASEBAQEBAQEBA")

    path = data_dir / DATABASE_NAME
    expected = f"{path}: the store belongs to cluster {given}, not to BAQEBAQERASEBAQEBAQEBA"
    assert str(raised.value) == expected
    store = open_store(data_dir)
    assert store.cluster_id == given
    store.close()


def test_a_cluster_id_of_another_form_makes_no_store(data_dir: Path) -> None:
    """It is refused before anything is made."""
    with pytest.raises(StorageError, match="22 characters"):
        open_store(data_dir, cluster_id="my-cluster")

    assert not data_dir.exists()


def test_the_store_says_who_made_it(data_dir: Path) -> None:
    """Version and time of the making are kept."""
    open_store(data_dir).close()

    made = query(data_dir, "SELECT value FROM meta WHERE key LIKE 'created%' ORDER BY key")

    assert made == [(__version__,), (NOW_MS,)]


def test_a_store_in_use_is_refused(data_dir: Path) -> None:
    """The error names the lock and the process; after close the store is free."""
    store = open_store(data_dir)

    with pytest.raises(StorageError) as raised:
        open_store(data_dir)

    expected = f"{data_dir / LOCK_NAME}: the store is in use by process {os.getpid()}"
    assert str(raised.value) == expected
    store.close()
    open_store(data_dir).close()


def test_a_failed_opening_leaves_no_lock(data_dir: Path) -> None:
    """A file that is not a database is refused each time for that reason, not for a lock."""
    data_dir.mkdir()
    (data_dir / DATABASE_NAME).write_bytes(b"not a database at all" * 100)

    for _ in range(2):
        with pytest.raises(StorageError, match=r"doorkeeper\.db: file is not a database"):
            open_store(data_dir)


def test_a_start_that_broke_off_is_begun_again(data_dir: Path) -> None:
    """An empty file, as a crash before the first commit leaves it, becomes a store."""
    data_dir.mkdir()
    (data_dir / DATABASE_NAME).touch()

    store = open_store(data_dir)

    assert store.revision == 0
    store.close()


async def test_a_closed_store_is_one_file(data_dir: Path) -> None:
    """Close brings the WAL into the database; it may be called twice, and before start."""
    store = started_store(data_dir)
    await submitting(store, adding(1))
    assert (data_dir / "doorkeeper.db-wal").stat().st_size > 0

    store.close()
    store.close()
    open_store(data_dir).close()

    assert sorted(path.name for path in data_dir.iterdir()) == [DATABASE_NAME, LOCK_NAME]


async def test_the_log_is_pruned_while_nothing_is_written(data_dir: Path) -> None:
    """A store with a limit of days drops what is older; bindings and the number stay."""
    await fill(data_dir, adding(1), adding(2), adding(3))
    asked = threading.Event()

    def clock() -> int:
        asked.set()
        return NOW_MS + 10 * 86_400_000

    store = open_store(data_dir, now_ms=clock, retention_days=5)
    asked.clear()
    store.start(asyncio.get_running_loop())
    assert asked.wait(60)  # the writer is idle and asks what is old
    assert await submitting(store, Change(author=AUTHOR)) == 3
    store.close()

    assert query(data_dir, "SELECT revision FROM change_log") == [(3,)]
    assert query(data_dir, "SELECT count(*) FROM bindings") == [(3,)]


async def test_loading_gives_the_collector_back(data_dir: Path) -> None:
    """The garbage collector rests while bindings are read, also when reading is given up."""
    await fill(data_dir, adding(1, 2))
    store = open_store(data_dir)

    reading = store.bindings()
    next(reading)
    assert not gc.isenabled()
    reading.close()  # type: ignore[attr-defined]

    assert gc.isenabled()
    store.close()
