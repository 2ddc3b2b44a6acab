"""Bounded staleness."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from testkit.loop_clock import time_by_hand
from testkit.recording_logger import RecordingLogger
from testkit.state_logs import _ScriptedLease, keys_of, sharing, submit, turns, write

if TYPE_CHECKING:
    from doorkeeper.server.state.store import Logged


async def test_old_state_is_stale() -> None:
    now_s = 0.0
    logger = RecordingLogger()
    with time_by_hand() as clock:
        log, store = await sharing(clock=lambda: now_s, max_age_s=5, logger=logger)
        now_s = 4.0
        clock.now_s += 1.1
        await turns()
        seen = [log.state.stale]
        now_s = 5.5
        clock.now_s += 1.1
        await turns()
        seen.append(log.state.stale)

        await store.database.ring()
        await turns()
        clock.now_s += 1.1
        await turns()
        seen.append(log.state.stale)
        await log.aclose()

    assert seen == [False, True, False]


async def test_age_counts_from_the_query() -> None:
    now_s = 0.0
    log, store = await sharing(clock=lambda: now_s)
    write(store.database, "a")

    class SlowReader(_ScriptedLease):
        async def changes(self, after: int, rows_max: int) -> list[Logged]:
            nonlocal now_s
            now_s += 30
            return await super().changes(after, rows_max)

    await log._follow(SlowReader(store))
    assert keys_of(log.state) == ["a"]
    assert log.age_s == 30

    await log._plan_lock.acquire()
    following = asyncio.create_task(log._follow(_ScriptedLease(store)))
    await turns()
    now_s += 7
    log._plan_lock.release()
    await following
    assert log.age_s == 7
    await log.aclose()


async def test_commit_confirms_the_state_at_its_start() -> None:
    now_s = 0.0
    log, store = await sharing(clock=lambda: now_s)
    store.gate.clear()
    done = submit(log, "a")
    await turns()
    now_s = 9.0
    store.gate.set()

    await done

    assert log.age_s == 9
    await log.aclose()
