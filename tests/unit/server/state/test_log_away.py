"""The state log with a store that is away, in doubt about a commit, or not the one it knows."""

from __future__ import annotations

import asyncio
import uuid

import pytest
from msgspec.structs import replace

from doorkeeper.server.schema.change import SERVER
from doorkeeper.server.state.store import OutcomeUnknown, StoreReplaced, StoreUnavailable
from testkit.loop_clock import time_by_hand
from testkit.state_logs import (
    counting,
    keys_of,
    outcomes,
    sharing,
    submit,
    turns,
    write,
)


async def test_changes_wait_for_an_unavailable_store() -> None:
    log, store = await sharing()
    await submit(log, "a")
    store.is_away = True
    with time_by_hand() as clock:
        waiting = [submit(log, "b"), submit(log, "c")]
        await turns()
        leases = store.leases
        assert keys_of(log.state) == ["a"]
        assert not log.status().reachable
        for pause_s in (0.05, 0.1, 0.25, 0.5, 1.0, 1.0):
            clock.now_s += pause_s / 2
            await turns()
            assert store.leases == leases
            clock.now_s += pause_s / 2 + 0.001
            await turns()
            leases += 1
            assert store.leases == leases

        store.is_away = False
        clock.now_s += 1.1
        assert await outcomes(*waiting) == [2, 3]
    assert keys_of(log.state) == ["a", "b", "c"]
    assert log.status().reachable


async def test_waiting_change_times_out() -> None:
    log, store = await sharing(timeout_s=10)
    store.is_away = True
    with time_by_hand() as clock:
        first = submit(log, "a")
        await turns()
        clock.now_s += 6
        second = submit(log, "b")
        await turns()
        clock.now_s += 3.9
        await turns()
        assert not first.done()
        clock.now_s += 0.2
        await turns()
        assert str(first.exception()) == "the store was unavailable for 10 s"
        assert isinstance(first.exception(), StoreUnavailable)
        assert not second.done()

        clock.now_s += 6
        await turns()
        assert isinstance(second.exception(), StoreUnavailable)
        store.is_away = False
        clock.now_s += 2
        assert (await submit(log, "c")).revision == 1
    assert keys_of(log.state) == ["c"]


async def test_failed_commit_is_planned_again() -> None:
    log, store = await sharing()
    store.commit_faults = [StoreUnavailable("away")]
    store.gate.clear()
    with time_by_hand() as clock:
        first, second = log.submit(counting, SERVER), log.submit(counting, SERVER)
        await turns()
        third = log.submit(counting, SERVER)
        write(store.database, "count")
        store.gate.set()
        await turns()
        assert not first.done()
        clock.now_s += 0.06

        assert await outcomes(first, second, third) == [2, 3, 4]
    found = log.state.configs.get("", "count")
    assert found is not None
    assert found.value == "4"


async def test_commit_with_lost_response_is_found_in_the_log() -> None:
    log, store = await sharing()
    heard: list[tuple[int, bool]] = []
    log.subscribe(lambda each: heard.append((each.revision, each.origin is None)))
    store.lost_answers = [OutcomeUnknown("lost")]
    with time_by_hand() as clock:
        first, second = submit(log, "a"), log.submit(lambda _state: ({}, None), SERVER)
        await turns()
        assert not first.done()
        assert keys_of(log.state) == []
        write(store.database, "theirs")
        third = submit(log, "b")
        clock.now_s += 0.06

        assert await outcomes(first, second, third) == [1, 1, 3]
    assert keys_of(log.state) == ["a", "b", "theirs"]
    assert heard == [(1, False), (2, True), (3, False)]
    assert store.commits == [[1], [3]]


async def test_commit_that_never_arrived_is_repeated() -> None:
    log, store = await sharing()
    store.commit_faults = [OutcomeUnknown("never"), OutcomeUnknown("never")]
    with time_by_hand() as clock:
        first = log.submit(counting, SERVER)
        await turns()
        write(store.database, "count")
        clock.now_s += 0.06
        await turns()
        assert not first.done()
        clock.now_s += 0.11

        assert await outcomes(first) == [2]
    found = log.state.configs.get("", "count")
    assert found is not None
    assert found.value == "2"


async def test_log_is_not_followed_during_an_unresolved_commit() -> None:
    log, store = await sharing()
    store.lost_answers = [OutcomeUnknown("lost")]
    with time_by_hand() as clock:
        first = submit(log, "a")
        await turns()
        store.is_away = True
        await store.database.ring()
        await turns()
        assert keys_of(log.state) == []
        store.is_away = False
        clock.now_s += 0.06

        assert await outcomes(first) == [1]


async def test_unresolved_commit_outcome_is_reported() -> None:
    log, store = await sharing(timeout_s=10)
    store.lost_answers = [OutcomeUnknown("lost")]
    with time_by_hand() as clock:
        first = submit(log, "a")
        await turns()
        store.is_away = True
        clock.now_s += 10.1
        await turns()
        assert isinstance(first.exception(), OutcomeUnknown)
        assert keys_of(log.state) == []

        store.is_away = False
        await store.database.ring()
        await turns()
        assert keys_of(log.state) == ["a"]


async def test_replaced_store_fails_changes_immediately() -> None:
    log, store = await sharing()
    await submit(log, "a")
    store.lease_faults = [StoreReplaced("another store")]

    assert await outcomes(submit(log, "b"), submit(log, "c")) == [StoreReplaced, StoreReplaced]
    assert keys_of(log.state) == ["a"]
    leases = store.leases
    await turns()
    assert store.leases == leases
    assert (await submit(log, "d")).revision == 2


async def test_unresolved_commit_in_a_replaced_store_is_reported() -> None:
    log, store = await sharing()
    store.lost_answers = [OutcomeUnknown("lost")]
    with time_by_hand() as clock:
        first = submit(log, "a")
        await turns()
        store.lease_faults = [StoreReplaced("another store")] * 3
        second = submit(log, "b")
        clock.now_s += 0.06

        assert await outcomes(first, second) == [OutcomeUnknown, StoreReplaced]
        await turns()
        assert len(store.lease_faults) == 2


async def test_store_with_an_older_head_is_rejected() -> None:
    log, store = await sharing()
    await asyncio.gather(submit(log, "a"), submit(log, "b"))
    lost = store.database.logged.pop()

    assert await outcomes(submit(log, "c")) == [StoreReplaced]
    await store.database.ring()
    await turns()
    assert [type(each) for each in store.follow_faults] == [StoreReplaced]
    assert "at revision 1, but this node has acknowledged revision 2" in str(store.follow_faults[0])
    assert keys_of(log.state) == ["a", "b"]

    store.database.logged.append(lost)
    assert (await submit(log, "c")).revision == 3


async def test_store_with_another_history_is_rejected() -> None:
    log, store = await sharing()
    await submit(log, "a")
    async with store.lease() as reader:
        await log.check_history(reader)

        store.database.logged[-1] = replace(store.database.logged[-1], batch=uuid.uuid4())
        with pytest.raises(
            StoreReplaced,
            match="revision 1 in the store differs from that of this node: the store was replaced",
        ):
            await log.check_history(reader)
        store.database.logged.clear()
        await log.check_history(reader)  # the log was pruned: nothing says that it is another


async def test_history_is_checked_after_reconnecting() -> None:
    log, store = await sharing()
    await submit(log, "a")
    store.is_reconnected = True
    assert (await submit(log, "b")).revision == 2
    ours = store.database.logged[1]
    store.database.logged[1] = replace(ours, batch=uuid.uuid4())
    write(store.database, "theirs")

    refused = submit(log, "c")

    assert await outcomes(refused) == [StoreReplaced]
    assert "revision 2 in the store differs from that of this node: the store was replaced" in str(
        refused.exception()
    )
    assert keys_of(log.state) == ["a", "b"]
    store.database.logged[1] = ours
    assert (await submit(log, "d")).revision == 4
    assert keys_of(log.state) == ["a", "b", "d", "theirs"]
