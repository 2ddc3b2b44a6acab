"""The state log: what happens before its ACLs are read, and when it is closed."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import SERVER, edit
from doorkeeper.server.schema.declared import ACL, CONFIG
from doorkeeper.server.state import log as module
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.store import OutcomeUnknown, StorageError, StoreUnavailable
from testkit.acl import READ, allow, topic
from testkit.load import scaled
from testkit.loop_clock import time_by_hand
from testkit.state_logs import (
    Database,
    ScriptedStore,
    alone,
    keys_of,
    outcomes,
    row,
    sharing,
    submit,
    turns,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.schema.kind import Kind
    from doorkeeper.server.state.state import State

ACLS = [StoredBinding(name, allow("alice", READ, topic(name))) for name in "abc"]


async def test_state_without_acls_is_available_before_the_load() -> None:
    database = Database({**edit(ACL, set=ACLS), **edit(CONFIG, set=[row("k")])})
    log = StateLog(ScriptedStore(database))

    assert keys_of(log.state) == ["k"]
    assert log.state.acls.count == 0
    await log.start()

    assert log.state.acls.count == 3
    assert log.state.revision == 0
    assert log.cluster_id == "c" * 22


async def test_changes_wait_for_the_load() -> None:
    log = StateLog(ScriptedStore(Database(edit(ACL, set=ACLS))))
    seen: list[int] = []

    def plan(state: State) -> tuple[Change, None]:
        seen.append(state.acls.count)
        return edit(CONFIG, set=[row(f"k{len(seen)}")]), None

    early = log.submit(plan, SERVER)
    loaded = log.start()
    later = log.submit(plan, SERVER)

    assert await outcomes(early, later) == [1, 2]
    assert loaded.done()
    assert seen == [3, 3]


class UnreadableStore(ScriptedStore):
    """Fails when its ACLs are read."""

    def rows(self, kind: Kind) -> Iterator[Any]:
        if kind is ACL:
            raise StorageError("unreadable")
        return super().rows(kind)


async def test_unreadable_store_fails_the_start() -> None:
    log = StateLog(UnreadableStore(Database()))
    early = submit(log, "a")

    with pytest.raises(StorageError, match="unreadable"):
        await log.start()

    assert await outcomes(early, submit(log, "b")) == [StorageError, StorageError]
    await log.aclose()


class SlowStore(ScriptedStore):
    """Gives one ACL, then waits until it is let on."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.is_reading = asyncio.Event()
        self.go_on = threading.Event()
        self.read = 0
        self._loop = asyncio.get_running_loop()

    def rows(self, kind: Kind) -> Iterator[Any]:
        for each in super().rows(kind):
            if kind is ACL:
                self.read += 1
                self._loop.call_soon_threadsafe(self.is_reading.set)
                assert self.go_on.wait(scaled(60))
            yield each


async def test_close_aborts_the_load() -> None:
    """Listeners get Kafka's text; the reading stops at the next row, before the store is closed."""
    store = SlowStore(Database(edit(ACL, set=ACLS)))
    log = StateLog(store)
    loaded, waiting = log.start(), submit(log, "a")
    await store.is_reading.wait()

    closing = asyncio.ensure_future(log.aclose())
    await turns()
    assert not store.is_closed
    store.go_on.set()
    await closing

    assert str(loaded.exception()) == (
        "The authorizer was closed before the initial load could complete."
    )
    assert await outcomes(waiting) == [StoreUnavailable]
    assert log.state.acls.count == 0
    assert store.read < 3
    assert store.is_closed


async def test_garbage_collector_is_restored_after_the_load() -> None:
    await alone()

    assert gc.isenabled()


async def test_close_writes_submitted_changes() -> None:
    log, store = await alone()
    waiting = [submit(log, name) for name in "abc"]

    await log.aclose()
    await log.aclose()

    assert await outcomes(*waiting, submit(log, "d")) == [1, 2, 3, StoreUnavailable]
    assert store.is_closed


async def test_close_waits_for_the_commit() -> None:
    log, store = await alone()
    store.gate.clear()
    waiting = submit(log, "a")
    await turns()
    with time_by_hand() as clock:
        closing = asyncio.ensure_future(log.aclose())
        await turns()
        clock.now_s += 100
        await turns()
        assert not closing.done()
        store.gate.set()
        await closing

    assert await outcomes(waiting) == [1]


async def test_close_does_not_wait_for_an_unavailable_store() -> None:
    log, store = await sharing(timeout_s=60)
    store.is_away = True
    with time_by_hand() as clock:
        waiting = [submit(log, "a"), submit(log, "b")]
        await turns()
        closing = asyncio.ensure_future(log.aclose())
        await turns()
        clock.now_s += module.CLOSING_S + 0.1
        await closing

        assert await outcomes(*waiting) == [StoreUnavailable, StoreUnavailable]
    assert store.is_closed


async def test_close_during_commit_reports_an_unknown_outcome() -> None:
    log, store = await sharing(timeout_s=60)
    store.gate.clear()
    with time_by_hand() as clock:
        written = submit(log, "a")
        await turns()
        waiting = submit(log, "b")
        closing = asyncio.ensure_future(log.aclose())
        await turns()
        clock.now_s += module.CLOSING_S + 0.1
        await closing

        assert await outcomes(written, waiting) == [OutcomeUnknown, StoreUnavailable]


async def test_unstarted_log_can_be_closed() -> None:
    log = StateLog(ScriptedStore(Database()))
    waiting = submit(log, "a")

    await log.aclose()

    assert await outcomes(waiting) == [StoreUnavailable]
