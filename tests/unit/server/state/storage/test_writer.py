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
from doorkeeper.server.runtime.metrics.meters import StoreMeter
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


async def test_group_is_one_transaction(data_dir: Path) -> None:
    """200 changes share one commit, each a revision of its own."""
    store = started_store(data_dir)
    commits = itertools.count()
    store._connection.set_commit_hook(lambda: bool(next(commits)) and False)

    last = await commit(store, *(adding(number) for number in range(200)))

    assert last == 200
    assert next(commits) == 1
    store.close()
    assert numbers_in(data_dir) == list(range(200))


async def test_unstorable_change_fails_its_transaction(data_dir: Path) -> None:
    store = started_store(data_dir)
    await commit(store, adding(0))

    with pytest.raises(StorageError, match=r"doorkeeper\.db: a row to delete is not in the store"):
        await commit(store, adding(1), POISON, adding(2))

    assert await commit(store, adding(3)) == 2
    store.close()
    assert numbers_in(data_dir) == [0, 3]
    assert query(data_dir, "SELECT max(revision) FROM change_log") == [(2,)]


async def test_large_failing_change_is_rolled_back(data_dir: Path) -> None:
    store = started_store(data_dir)

    with pytest.raises(StorageError, match="a row to delete is not in the store"):
        await commit(store, adding(*range(5000)), POISON)

    assert await commit(store, adding(1)) == 1
    store.close()
    assert numbers_in(data_dir) == [1]


async def test_commit_starts_before_it_is_awaited(data_dir: Path) -> None:
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


async def test_cancelled_waiter_does_not_cancel_the_change(data_dir: Path) -> None:
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


def test_closed_loop_loses_no_change(data_dir: Path) -> None:
    store = open_store(data_dir)

    async def hand_over() -> None:
        store.start(asyncio.get_running_loop())
        async with store.lease() as lease:
            lease.commit(encoded(lease, LogEntry(1, AUTHOR, adding(1))), uuid.uuid4())

    asyncio.run(hand_over())
    store.close()

    assert numbers_in(data_dir) == [1]


async def test_failing_upkeep_stops_no_change(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = started_store(data_dir)

    failed = threading.Event()

    def fail(*, is_idle: bool) -> None:
        failed.set()
        raise apsw.ThreadingViolationError(f"busy, {is_idle=}")

    with capture_logs() as lines:
        monkeypatch.setattr(store._upkeep, "due", fail)
        assert await asyncio.to_thread(failed.wait, 10)
        assert await commit(store, adding(1)) == 1

    assert {line["event"] for line in lines} == {"store maintenance failed"}
    assert await commit(store, adding(0)) == 2
    store.close()


async def test_unencodable_change_fails_alone(data_dir: Path) -> None:
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


async def test_fault_after_commit_does_not_fail_the_change(data_dir: Path) -> None:
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

    assert {line["event"] for line in lines} == {"a commit was not counted"}
    assert numbers_in(data_dir) == [1, 2]


async def test_change_chained_to_a_failed_commit_fails(data_dir: Path) -> None:
    store = started_store(data_dir)
    async with store.lease() as lease:
        lease.commit(encoded(lease, LogEntry(1, AUTHOR, POISON)), None)
        with pytest.raises(StorageError, match="not chained"):
            await lease.commit(encoded(lease, LogEntry(2, AUTHOR, adding(1))), None)

    await commit(store, adding(2))
    store.close()

    assert numbers_in(data_dir) == [2]
