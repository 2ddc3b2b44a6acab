"""The writer through its store: transactions, failures and metrics."""

from __future__ import annotations

import asyncio
import itertools
import threading
import uuid
from typing import TYPE_CHECKING

import apsw
import pytest
from structlog.testing import capture_logs

from doorkeeper.server.runtime.metrics import table
from doorkeeper.server.runtime.metrics.hooks import StoreMeter
from doorkeeper.server.runtime.metrics.series import Counter, Meters
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL, CONFIG
from doorkeeper.server.state.store import LogEntry, StorageError
from testkit.load import scaled
from testkit.stores import (
    AUTHOR,
    adding,
    binding,
    commit,
    encoded,
    numbers_in,
    open_store,
    query,
    removing,
    started_store,
)

if TYPE_CHECKING:
    from pathlib import Path

POISON = removing(999_999)
"""A change that cannot be stored: the binding is not there."""


async def test_a_group_is_one_transaction(data_dir: Path) -> None:
    """200 changes share one commit, each a revision of its own."""
    store = started_store(data_dir)
    commits = itertools.count()
    store._writer.connection.set_commit_hook(lambda: bool(next(commits)) and False)

    last = await commit(store, *(adding(number) for number in range(200)))

    assert last == 200
    assert next(commits) == 1
    store.close()
    assert numbers_in(data_dir) == list(range(200))


async def test_a_change_that_cannot_be_stored_fails_its_transaction(data_dir: Path) -> None:
    """Nothing of it stays, and the next one has the number that it would have had."""
    store = started_store(data_dir)
    await commit(store, adding(0))

    with pytest.raises(StorageError, match=r"doorkeeper\.db: a row to delete is not in the store"):
        await commit(store, adding(1), POISON, adding(2))

    assert await commit(store, adding(3)) == 2
    store.close()
    assert numbers_in(data_dir) == [0, 3]
    assert query(data_dir, "SELECT max(revision) FROM change_log") == [(2,)]


async def test_a_large_change_that_fails_leaves_nothing(data_dir: Path) -> None:
    """It takes several statements: those before the failure are rolled back."""
    store = started_store(data_dir)

    with pytest.raises(StorageError, match="a row to delete is not in the store"):
        await commit(store, adding(*range(5000)), POISON)

    assert await commit(store, adding(1)) == 1
    store.close()
    assert numbers_in(data_dir) == [1]


async def test_a_commit_begins_before_it_is_awaited(data_dir: Path) -> None:
    """The thread writes while the loop works on something else."""
    asked = threading.Event()

    def now_ms() -> int:
        asked.set()
        return 0

    store = open_store(data_dir, now_ms=now_ms)
    store.start(asyncio.get_running_loop())
    asked.clear()

    async with store.lease() as lease:
        written = lease.commit(encoded(lease, LogEntry(1, AUTHOR, adding(1))), uuid.uuid4())
        assert asked.wait(scaled(60))
        await written
    store.close()


async def test_a_waiter_that_gives_up_harms_nothing(data_dir: Path) -> None:
    """The change is stored all the same, and the next one too."""
    store = started_store(data_dir)
    async with store.lease() as lease:
        written = asyncio.ensure_future(
            lease.commit(encoded(lease, LogEntry(1, AUTHOR, adding(1))), uuid.uuid4())
        )
        written.cancel()

    async with store.lease() as lease:
        await lease.commit(encoded(lease, LogEntry(2, AUTHOR, adding(2))), uuid.uuid4())
    store.close()

    assert numbers_in(data_dir) == [1, 2]


async def test_transactions_are_counted(data_dir: Path) -> None:
    """Stored and failed ones, and the changes in them."""
    meters = Meters()
    store = open_store(data_dir, meter=StoreMeter(meters))
    store.start(asyncio.get_running_loop())

    await commit(store, adding(1), adding(2))
    await commit(store, adding(3))
    with pytest.raises(StorageError):
        await commit(store, POISON)
    store.close()

    assert meters.counter(table.STORE_COMMITS, "stored").value == 2
    assert meters.counter(table.STORE_COMMITS, "failed").value == 1
    assert meters.counter(table.STORE_CHANGES).value == 3


def test_a_closed_loop_loses_no_change(data_dir: Path) -> None:
    """What was handed over before the loop ended is stored."""
    store = open_store(data_dir)

    async def hand_over() -> None:
        store.start(asyncio.get_running_loop())
        async with store.lease() as lease:
            lease.commit(encoded(lease, LogEntry(1, AUTHOR, adding(1))), uuid.uuid4())

    asyncio.run(hand_over())
    store.close()

    assert numbers_in(data_dir) == [1]


async def test_upkeep_that_fails_stops_no_change(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is logged, and the thread goes on."""
    store = started_store(data_dir)

    failed = threading.Event()

    def fail(*, is_idle: bool) -> None:
        failed.set()
        raise apsw.ThreadingViolationError(f"busy, {is_idle=}")

    with capture_logs() as lines:
        monkeypatch.setattr(store._writer._upkeep, "due", fail)
        assert await asyncio.to_thread(failed.wait, 10)
        assert await commit(store, adding(1)) == 1

    assert {line["event"] for line in lines} == {"store_upkeep_failed"}
    assert await commit(store, adding(0)) == 2
    store.close()


async def test_a_change_that_cannot_be_encoded_fails_alone(data_dir: Path) -> None:
    """It is counted as one that cannot be written; the writer goes on with the next one."""
    meters = Meters()
    store = open_store(data_dir, meter=StoreMeter(meters))
    store.start(asyncio.get_running_loop())
    pattern = binding(1).binding.pattern._replace(name="\udc80")
    surrogate = binding(1)._replace(binding=binding(1).binding._replace(pattern=pattern))

    for change, text in (
        (edit(ACL, set=[surrogate]), "surrogates not allowed"),
        (edit(CONFIG, set=[object()]), r"doorkeeper\.db"),
    ):
        with pytest.raises(StorageError, match=text):
            await commit(store, change)

    assert await commit(store, adding(2)) == 1
    store.close()
    assert meters.counter(table.STORE_COMMITS, "failed").value == 2
    assert numbers_in(data_dir) == [2]


async def test_a_change_that_is_stored_and_not_counted(data_dir: Path) -> None:
    """A fault behind the COMMIT does not look like a change that failed."""

    class Faulty(Counter):
        def add(self, amount: float = 1) -> None:
            raise RuntimeError

    meter = StoreMeter()
    meter.stored = Faulty()
    store = open_store(data_dir, meter=meter)
    store.start(asyncio.get_running_loop())

    with capture_logs() as lines:
        assert [await commit(store, adding(number)) for number in (1, 2)] == [1, 2]
        store.close()

    assert {line["event"] for line in lines} == {"store_commit_not_counted"}
    assert numbers_in(data_dir) == [1, 2]


async def test_a_failed_commit_behind_one_without_a_waiter(data_dir: Path) -> None:
    """What is chained to a revision that was not stored is not stored; later changes are."""
    store = started_store(data_dir)
    async with store.lease() as lease:
        lease.commit(encoded(lease, LogEntry(1, AUTHOR, POISON)), None)
        with pytest.raises(StorageError, match="not chained"):
            await lease.commit(encoded(lease, LogEntry(2, AUTHOR, adding(1))), None)

    await commit(store, adding(2))
    store.close()

    assert numbers_in(data_dir) == [2]
