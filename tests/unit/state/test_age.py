"""Bounded staleness."""

from __future__ import annotations

from testkit.loop_clock import time_by_hand
from testkit.recording_logger import RecordingLogger
from testkit.state_logs import sharing, turns


async def test_a_state_that_is_too_old_is_stale() -> None:
    """Until the store confirms again that there is nothing newer."""
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
