"""The writer through its store: groups, order, and what fails with what."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from doorkeeper.metrics import table
from doorkeeper.metrics.hooks import StoreMeter
from doorkeeper.metrics.series import Meters
from doorkeeper.storage.contract import Change, StorageError, StoredBinding
from testkit.stores import (
    AUTHOR,
    NOW_MS,
    adding,
    binding,
    numbers_in,
    open_store,
    plan,
    query,
    removing,
    started_store,
    submitting,
)

if TYPE_CHECKING:
    from doorkeeper.storage.embedded import EmbeddedStore

POISON = removing(999_999)
"""A change that cannot be stored: the binding is not there."""


class GatedClock:
    """A clock that holds the writer's thread, which asks for the time of each commit.

    While the gate is closed, what is submitted gathers and becomes one group.
    """

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.asked = threading.Event()

    def __call__(self) -> int:
        self.asked.set()
        assert self.gate.wait(60)
        return NOW_MS


@pytest.fixture
def clock() -> GatedClock:
    return GatedClock()


@pytest_asyncio.fixture
async def gated(data_dir: Path, clock: GatedClock) -> AsyncIterator[EmbeddedStore]:
    """Give a store whose writer is held in the commit of binding 0, with the gate closed."""
    clock.gate.set()
    store = open_store(data_dir, now_ms=clock)
    clock.gate.clear()
    clock.asked.clear()
    store.start(asyncio.get_running_loop())
    store.submit(plan(adding(0)), lambda _: None)
    assert clock.asked.wait(60)
    yield store
    clock.gate.set()
    store.close()


async def test_what_waits_becomes_one_commit_and_one_turn(
    gated: EmbeddedStore, clock: GatedClock
) -> None:
    """200 changes that wait share one commit, and their results come in one turn of the loop."""
    commits = itertools.count()
    delivered: list[int | StorageError] = []
    delivered_in_first_turn: list[int] = []
    loop = asyncio.get_running_loop()

    def first(result: int | StorageError) -> None:
        delivered.append(result)
        loop.call_soon(lambda: delivered_in_first_turn.append(len(delivered)))

    gated.submit(plan(adding(1)), first)
    for number in range(2, 200):
        gated.submit(plan(adding(number)), delivered.append)
    last = submitting(gated, adding(200))
    gated._connection.set_commit_hook(lambda: bool(next(commits)) and False)
    clock.gate.set()
    await last

    assert delivered == list(range(2, 201))
    assert delivered_in_first_turn == [199]
    assert next(commits) == 2  # binding 0, then the group


async def test_a_poisoned_change_takes_none_before_it(
    gated: EmbeddedStore, clock: GatedClock, data_dir: Path
) -> None:
    """In a group of five with a bad one in the middle the first two are stored."""
    futures = [submitting(gated, change) for change in (adding(1), adding(2), POISON)]
    futures += [submitting(gated, adding(number)) for number in (3, 4)]
    clock.gate.set()

    one, two, bad, three, four = await asyncio.gather(*futures)

    assert (one, two) == (2, 3)
    assert str(bad).endswith("doorkeeper.db: a binding to delete is not in the store")
    assert three is bad
    assert four is bad
    gated.close()
    assert numbers_in(data_dir) == [0, 1, 2]


async def test_large_and_small_changes_of_a_group_keep_their_order(
    gated: EmbeddedStore, clock: GatedClock, data_dir: Path
) -> None:
    """What one creates the next may delete, however each of them is written."""
    changes = [adding(*range(1, 201)), removing(1, 2), adding(201), removing(*range(3, 202))]
    futures = [submitting(gated, change) for change in changes]
    clock.gate.set()

    assert await asyncio.gather(*futures) == [2, 3, 4, 5]
    gated.close()
    assert numbers_in(data_dir) == [0]


async def test_transactions_are_counted_with_what_they_store(
    data_dir: Path, clock: GatedClock
) -> None:
    """A group that fails and is tried singly is one failure, and one more for the culprit."""
    meters = Meters()
    clock.gate.set()
    store = open_store(data_dir, now_ms=clock, meter=StoreMeter(meters))
    clock.gate.clear()
    clock.asked.clear()
    store.start(asyncio.get_running_loop())
    first = submitting(store, adding(0))
    assert clock.asked.wait(60)

    empty = submitting(store, Change(author=AUTHOR))
    rest = [submitting(store, change) for change in (adding(1), adding(2), POISON)]
    clock.gate.set()
    await asyncio.gather(first, empty, *rest)

    assert meters.counter(table.STORE_COMMITS, "stored").value == 3
    assert meters.counter(table.STORE_CHANGES).value == 3
    assert meters.counter(table.STORE_COMMITS, "failed").value == 2
    assert meters.histogram(table.COMMIT_SECONDS).count == 3
    store.close()


async def test_what_a_failures_callback_submits_is_stored(
    gated: EmbeddedStore, clock: GatedClock
) -> None:
    """Once a failure is delivered the store goes on, and the revisions have no gap."""
    loop = asyncio.get_running_loop()
    again: asyncio.Future[int | StorageError] = loop.create_future()

    gated.submit(plan(POISON), lambda _: gated.submit(plan(adding(2)), again.set_result))
    behind = submitting(gated, adding(1))
    clock.gate.set()

    assert isinstance(await behind, StorageError)
    assert await again == 2
    assert gated.revision == 2


async def test_all_that_fails_is_told_in_the_turn_of_the_failure(
    gated: EmbeddedStore, clock: GatedClock
) -> None:
    """After a failure's turn nothing is pending that was computed on top of it."""
    told: list[str] = []
    turn_over = asyncio.Event()

    def bad(_: int | StorageError) -> None:
        told.append("bad")
        asyncio.get_running_loop().call_soon(turn_over.set)

    gated.submit(plan(POISON), bad)
    gated.submit(plan(adding(1)), lambda _: told.append("one"))
    gated.submit(plan(adding(2)), lambda _: told.append("two"))
    clock.gate.set()
    await turn_over.wait()

    assert told == ["bad", "one", "two"]


async def test_a_change_between_failure_and_delivery_fails_with_it(data_dir: Path) -> None:
    """The writer has failed, the loop has not heard of it yet: the next change fails, too."""
    store = started_store(data_dir)
    assert store._writer is not None

    bad = submitting(store, POISON)
    while store._writer._failed_epoch < 0:
        pass
    late = submitting(store, adding(1))

    assert isinstance(await bad, StorageError)
    assert late.done()
    assert late.result() is bad.result()
    assert await submitting(store, adding(2)) == 1
    store.close()
    assert numbers_in(data_dir) == [2]


async def test_a_change_of_an_earlier_callback_in_the_same_turn_fails(
    gated: EmbeddedStore, clock: GatedClock
) -> None:
    """Submitted by a good result's callback, before the failure behind it: it fails."""
    loop = asyncio.get_running_loop()
    between: asyncio.Future[int | StorageError] = loop.create_future()

    gated.submit(plan(adding(1)), lambda _: gated.submit(plan(adding(2)), between.set_result))
    bad = submitting(gated, POISON)
    clock.gate.set()

    assert isinstance(await bad, StorageError)
    assert await between is bad.result()


async def test_failures_one_after_the_other(gated: EmbeddedStore, clock: GatedClock) -> None:
    """Each failure begins a new epoch; what succeeds between them is stored."""
    clock.gate.set()
    results: list[int | StorageError] = []

    for number in range(1, 6):
        results.append(await submitting(gated, POISON))
        results.append(await submitting(gated, adding(number)))

    assert [result for result in results if isinstance(result, int)] == [2, 3, 4, 5, 6]
    assert sum(isinstance(result, StorageError) for result in results) == 5


async def test_a_failure_inside_a_large_change_leaves_no_part(data_dir: Path) -> None:
    """A change of several statements whose last item is bad is undone as a whole."""
    store = started_store(data_dir)
    large = Change(author=AUTHOR, bindings_added=(*adding(*range(1000)).bindings_added, binding(0)))

    failed = await submitting(store, large)
    stored = await submitting(store, adding(1))
    store.close()

    assert isinstance(failed, StorageError)
    assert stored == 1
    assert numbers_in(data_dir) == [1]


async def test_a_transaction_left_open_is_left_before_the_next_change(data_dir: Path) -> None:
    """When a rollback failed, the next change does not commit into what it left open."""
    store = started_store(data_dir)
    store._connection.execute("BEGIN")

    stored = await submitting(store, adding(1))

    assert stored == 1
    assert query(data_dir, "SELECT revision FROM change_log") == [(1,)]
    store.close()


async def test_an_empty_change_keeps_its_place(gated: EmbeddedStore, clock: GatedClock) -> None:
    """It answers the last revision before it, makes none, and fails behind a failure."""
    futures = [submitting(gated, change) for change in (Change(author=AUTHOR), adding(1))]
    futures += [submitting(gated, change) for change in (Change(author=AUTHOR), POISON)]
    futures += [submitting(gated, Change(author=AUTHOR))]
    clock.gate.set()

    *good, bad, behind = await asyncio.gather(*futures)

    assert good == [1, 2, 2]
    assert behind is bad


async def test_a_text_that_cannot_be_written_fails_its_change_only(data_dir: Path) -> None:
    """A lone surrogate has no UTF-8: an error with the file's name, and the thread lives on."""
    store = started_store(data_dir)
    bad = StoredBinding("\ud800", binding(1).binding)

    failed = await submitting(store, Change(author=AUTHOR, bindings_added=(bad,)))
    stored = await submitting(store, adding(1))
    store.close()

    assert "doorkeeper.db: 'utf-8' codec can't encode" in str(failed)
    assert stored == 1


async def test_a_callback_that_raises_does_not_stop_the_others(
    gated: EmbeddedStore, clock: GatedClock
) -> None:
    """Its exception goes to the loop's handler; the results behind it are delivered."""
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: reported.append(context["exception"])
    )
    error = RuntimeError("callback")

    def failing(_: int | StorageError) -> None:
        raise error

    gated.submit(plan(adding(1)), failing)
    behind = submitting(gated, adding(2))
    clock.gate.set()

    assert await behind == 3
    assert reported == [error]


async def test_order_holds_under_many_submitters(data_dir: Path) -> None:
    """64 submitters: each change its own revision, without gap, delivered in order."""
    store = started_store(data_dir)
    delivered: list[tuple[int, int | StorageError]] = []
    numbers = itertools.count()

    async def submit_many() -> None:
        for _ in range(25):
            number = next(numbers)
            done = asyncio.Event()

            def deliver(result: int | StorageError) -> None:
                delivered.append((number, result))  # noqa: B023 - awaited before the next number
                done.set()  # noqa: B023

            store.submit(plan(adding(number)), deliver)
            await done.wait()

    await asyncio.gather(*(submit_many() for _ in range(64)))
    store.close()

    assert [result for _, result in delivered] == list(range(1, 1601))
    logged = query(data_dir, "SELECT binding_id, revision FROM change_log ORDER BY revision")
    assert logged == [(f"{number:022}", result) for number, result in delivered]


async def test_closing_stores_what_was_submitted(gated: EmbeddedStore, clock: GatedClock) -> None:
    """Close writes what waits; the results still reach the loop; later changes fail."""
    waiting = [submitting(gated, adding(number)) for number in (1, 2, 3)]
    clock.gate.set()

    gated.close()
    late = submitting(gated, adding(4))

    assert await asyncio.gather(*waiting) == [2, 3, 4]
    assert str(await late).endswith("doorkeeper.db: the store is closed")


async def test_no_thread_outlives_close(data_dir: Path) -> None:
    """The writer's thread is gone when close returns."""
    store = started_store(data_dir)
    assert "doorkeeper-store" in [thread.name for thread in threading.enumerate()]

    store.close()

    assert "doorkeeper-store" not in [thread.name for thread in threading.enumerate()]


def test_a_closed_loop_loses_no_change(data_dir: Path) -> None:
    """What was submitted before the loop ended is stored, though nobody hears of it."""
    loop = asyncio.new_event_loop()
    store = open_store(data_dir)
    store.start(loop)
    heard: list[object] = []
    store.submit(plan(adding(1)), heard.append)
    loop.close()

    store.close()

    assert heard == []
    assert numbers_in(data_dir) == [1]
