"""A store whose database says what a test wants: whom it trusts, and when it asks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from doorkeeper.kinds.declared import KINDS
from doorkeeper.state.store import LogReader, StoredState, StoreIdentity
from doorkeeper.storage.postgres.health import BackOff
from doorkeeper.storage.postgres.store import PostgresStore
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


def store_over(connect: Any) -> PostgresStore:
    """Return a store that was just read."""
    return PostgresStore(
        connect,
        name="a store",
        node_id=1,
        state=StoredState(0, None, {name: [] for name in KINDS}),
        identity=StoreIdentity("c" * 22, "s" * 22, bytes(32)),
        identity_file=None,
        timeout_s=30,
        lease_timeout_s=3,
        retention_days=-1,
        meter=None,
    )


async def test_an_old_notification_is_not_trusted() -> None:
    """The node was busy when it came: who asks the database learns whether it is still there."""
    connection = Quiet()
    seen: list[int | None] = []
    store = store_over(None)
    with time_by_hand() as clock:

        async def catch_up(reader: LogReader) -> None:
            seen.append(cast("Any", reader).rung)
            if len(seen) == 2:
                connection.notify(None, 0, "", "2")
                clock.now_s += 30

        listening = asyncio.create_task(store._listen(cast("Any", connection), catch_up, BackOff()))
        await turns()
        connection.notify(None, 0, "", "1")
        await turns()
        listening.cancel()
        await asyncio.wait([listening])

    assert seen == [None, 1, None]


async def test_a_database_that_takes_no_writes_is_asked_on_after_any_fault() -> None:
    """Otherwise the node would not notice that it does again, and would never be ready."""
    faults: list[Exception] = [RuntimeError("a bug"), ConnectionError("away"), KeyError("a bug")]
    asked = 0

    async def connect() -> None:
        nonlocal asked
        asked += 1
        raise faults[asked % 3]

    with time_by_hand() as clock:
        store = store_over(connect)
        store._writer_lost.set()
        store.start(asyncio.get_running_loop())
        await turns()
        for _ in range(6):
            clock.now_s += 6
            await turns()
        await store.aclose()

    assert asked == 6
