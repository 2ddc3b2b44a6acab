"""Changes that are submitted with a time-out."""

from __future__ import annotations

import pytest

from doorkeeper.server.schema.change import SERVER
from doorkeeper.server.state.store import StoreUnavailable
from testkit.loop_clock import time_by_hand
from testkit.state_logs import alone, keys_of, outcomes, setting, sharing, submit, turns


async def test_a_change_that_is_not_planned_in_time_is_withdrawn() -> None:
    """It fails when its time is over, and is not made when the store goes on."""
    log, store = await alone()
    store.gate.clear()
    with time_by_hand() as clock:
        first = submit(log, "a")
        await turns()
        second = log.submit(setting("b"), SERVER, 5)
        third = submit(log, "c")
        await turns()
        clock.now_s += 4.9
        await turns()
        assert not second.done()
        clock.now_s += 0.2
        await turns()
        assert isinstance(second.exception(), TimeoutError)

        store.gate.set()
        assert await outcomes(first, third) == [1, 2]
    assert keys_of(log.state) == ["a", "c"]


async def test_a_change_that_is_being_written_goes_on_behind_its_time() -> None:
    """The caller is answered in time; the change becomes visible when it is durable."""
    log, store = await alone()
    store.gate.clear()
    with time_by_hand() as clock:
        late = log.submit(setting("a"), SERVER, 5)
        await turns()
        clock.now_s += 5.1
        await turns()
        assert isinstance(late.exception(), TimeoutError)
        assert keys_of(log.state) == []

        store.gate.set()
        await turns()
    assert keys_of(log.state) == ["a"]


async def test_each_change_that_is_being_written_has_its_own_time() -> None:
    """The end of one wait ends no other wait for the same commit."""
    log, store = await alone()
    store.gate.clear()
    with time_by_hand() as clock:
        first, second = (log.submit(setting(name), SERVER, s) for name, s in (("a", 5), ("b", 50)))
        await turns()
        clock.now_s += 5  # exactly: a deadline that is reached is over
        await turns()
        assert isinstance(first.exception(), TimeoutError)
        assert not second.done()

        store.gate.set()
        assert await outcomes(second) == [2]
    assert keys_of(log.state) == ["a", "b"]


@pytest.mark.parametrize(("timeout_s", "expected"), [(5, TimeoutError), (10, StoreUnavailable)])
async def test_the_shorter_limit_counts(timeout_s: float, expected: type[Exception]) -> None:
    """With a store that is away the change fails at its own time or at the store's."""
    log, store = await sharing(timeout_s=10)
    store.is_away = True
    with time_by_hand() as clock:
        waiting = log.submit(setting("a"), SERVER, timeout_s)
        await turns()
        clock.now_s += timeout_s + 0.1
        await turns()
        assert type(waiting.exception()) is expected
