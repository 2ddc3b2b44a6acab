"""A store whose database says what a test wants: whom it trusts, and when it asks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest
import structlog

from doorkeeper.server.state.postgres.health import BackOff
from doorkeeper.server.state.postgres.store import PRUNE_EVERY_S, PostgresStore
from doorkeeper.server.state.store import LogReader, StoreIdentity
from testkit.loop_clock import time_by_hand
from testkit.state_logs import turns

if TYPE_CHECKING:
    from collections.abc import Callable


class Quiet:
    """A connection on which notifications are all that comes."""

    def __init__(self) -> None:
        self.notify: Callable[..., None] = print

    async def add_listener(self, _channel: str, callback: Callable[..., None]) -> None:
        self.notify = callback

    def add_termination_listener(self, callback: object) -> None:
        pass

    def is_closed(self) -> bool:
        return False


def store_over(connect: Any, retention_days: int = -1) -> PostgresStore:
    """Return a store that was just read."""
    store = PostgresStore(connect, name="a store", node_id=1, retention_days=retention_days)
    store.identity = StoreIdentity("c" * 22, "s" * 22, bytes(32))
    return store


@pytest.mark.parametrize("payload", ["2", "9" * 7_999, "²", None])
async def test_notification_only_triggers_a_query(payload: str | None) -> None:
    connection = Quiet()
    asked = asyncio.Event()
    store = store_over(None)
    store.note(1)

    async def catch_up(_reader: LogReader) -> None:
        asked.set()

    listening = asyncio.create_task(store._listen(cast("Any", connection), catch_up, BackOff()))
    await asked.wait()
    asked.clear()
    connection.notify(None, 0, "", payload)
    await asked.wait()
    listening.cancel()
    await asyncio.wait([listening])

    assert store._seen == 1


async def test_known_revision_needs_no_query() -> None:
    connection = Quiet()
    asked = 0
    store = store_over(None)
    store.note(2)
    with time_by_hand() as clock:

        async def catch_up(_reader: LogReader) -> None:
            nonlocal asked
            asked += 1

        listening = asyncio.create_task(store._listen(cast("Any", connection), catch_up, BackOff()))
        found = []
        for seconds in (0, 0.4, 0.4, 0.4):
            clock.now_s += seconds
            for payload in ("1", "2"):
                connection.notify(None, 0, "", payload)
                await turns()
            found.append(asked)
        listening.cancel()
        await asyncio.wait([listening])

    assert found == [1, 1, 1, 2]


async def test_pruning_continues_after_errors() -> None:
    asked = 0

    async def connect(_check: object) -> None:
        nonlocal asked
        asked += 1
        raise [RuntimeError("a bug"), ConnectionError("away"), KeyError("a bug")][asked % 3]

    with time_by_hand() as clock, structlog.testing.capture_logs() as lines:
        store = store_over(connect, retention_days=1)
        store.start(asyncio.get_running_loop())
        for _ in range(4):
            await turns()
            clock.now_s += PRUNE_EVERY_S
        await turns()
        await store.aclose()

    assert asked == 4
    assert {each["event"] for each in lines} == {"the log was not pruned"}


async def test_read_only_database_is_polled_after_errors() -> None:
    faults: list[Exception] = [RuntimeError("a bug"), ConnectionError("away"), KeyError("a bug")]
    asked = 0

    async def connect(_check: object) -> None:
        nonlocal asked
        asked += 1
        raise faults[asked % 3]

    with time_by_hand() as clock, structlog.testing.capture_logs():
        store = store_over(connect)
        store._writer_lost.set()
        store.start(asyncio.get_running_loop())
        await turns()
        for _ in range(6):
            clock.now_s += 6
            await turns()
        await store.aclose()

    assert asked == 6
