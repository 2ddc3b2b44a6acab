"""The state log: changes are planned, committed and published in order, whatever fails."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.slices import SLICE_S
from doorkeeper.server.schema.change import SERVER, Committed, Origin, edit
from doorkeeper.server.schema.declared import CONFIG
from doorkeeper.server.state import log as module
from doorkeeper.server.state.state import apply, apply_at_once
from doorkeeper.server.state.store import OutcomeUnknown, StorageError
from doorkeeper.server.state.submissions import CompletedPlan
from testkit.recording_logger import RecordingLogger
from testkit.state_logs import (
    OTHER,
    Database,
    alone,
    counting,
    keys_of,
    outcomes,
    row,
    setting,
    sharing,
    submit,
    turns,
)

if TYPE_CHECKING:
    from doorkeeper.base.slices import Slices
    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.state.state import State
    from doorkeeper.server.state.submissions import Plan

    Planned = tuple[Change, Any]


async def test_change_is_visible_once_durable() -> None:
    log, store = await alone()
    store.gate.clear()
    origin = Origin(OTHER)

    done = log.submit(setting("a", "b"), origin)
    await turns()
    assert store.commits == [[1]]
    assert keys_of(log.state) == []
    assert not done.done()
    store.gate.set()

    assert await done == CompletedPlan(1, None)
    assert keys_of(log.state) == ["a", "b"]
    assert log.state.revision == 1
    assert store.database.authors == [OTHER]


async def test_waiting_changes_share_a_commit() -> None:
    log, store = await alone()
    store.gate.clear()
    futures = [log.submit(counting, SERVER)]
    await turns()
    futures += [log.submit(counting, SERVER) for _ in range(200)]
    store.gate.set()

    assert await outcomes(*futures) == list(range(1, 202))
    assert store.commits == [[1], list(range(2, 202))]
    found = log.state.configs.get("", "count")
    assert found is not None
    assert found.value == "201"


async def test_results_are_in_submission_order() -> None:
    log, store = await alone()
    delivered: list[tuple[str, int]] = []

    async def submit_many(who: int) -> None:
        for number in range(10):
            done = submit(log, name := f"{who}-{number}")
            done.add_done_callback(lambda f, n=name: delivered.append((n, f.result().revision)))  # type: ignore[misc]
            await done

    await asyncio.gather(*[submit_many(who) for who in range(16)])

    assert [revision for _, revision in delivered] == list(range(1, 161))
    logged = [entry.change[CONFIG].set[0].name for entry in store.database.logged]
    assert logged == [name for name, _ in delivered]


async def test_empty_change_keeps_its_order() -> None:
    log, store = await alone()
    store.gate.clear()
    first = submit(log, "a")
    await turns()

    duplicate = log.submit(
        lambda state: ({} if keys_of(state) else edit(CONFIG, set=[row("a")]), keys_of(state)),
        SERVER,
    )
    third = submit(log, "b")
    await turns()
    assert not duplicate.done()
    store.gate.set()

    assert await outcomes(first, duplicate, third) == [1, 1, 2]
    before = log.state
    assert await log.submit(lambda _state: ({}, "same"), SERVER) == CompletedPlan(2, "same")
    assert duplicate.result().result == ["a"]
    assert log.state is before
    assert store.commits == [[1], [2]]


async def test_plan_exception_fails_only_its_change() -> None:
    log, store = await alone()
    refusal = ApiError(ErrorCode.INVALID_REQUEST, "no")

    def refuse(_state: State) -> Planned:
        raise refusal

    def refuse_later(_state: State) -> Slices[Planned]:
        yield
        raise refusal

    def run_out(_state: State) -> Planned:
        return next(iter(()))

    plans = [setting("a"), refuse, refuse_later, bugged, run_out, setting("b")]
    futures = [log.submit(plan, SERVER) for plan in plans]

    # No future takes a StopIteration.
    found = [1, ApiError, ApiError, ZeroDivisionError, RuntimeError, 2]
    assert await outcomes(*futures) == found
    assert futures[1].exception() is futures[2].exception() is refusal
    assert keys_of(log.state) == ["a", "b"]
    assert store.commits == [[1, 2]]


@pytest.mark.parametrize(
    "fault", [asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt(), GeneratorExit()]
)
@pytest.mark.parametrize("in_slices", [False, True], ids=["at once", "in slices"])
async def test_plan_cannot_stop_the_log(fault: BaseException, in_slices: bool) -> None:
    log, _store = await alone()

    def raise_fault(_state: State) -> Planned:
        raise fault

    def raise_later(_state: State) -> Slices[Planned]:
        yield
        raise fault

    first = submit(log, "a")
    ended = log.submit(raise_later if in_slices else raise_fault, SERVER)
    second = submit(log, "b")

    assert await outcomes(first, ended, second) == [1, RuntimeError, 2]
    assert repr(fault) in str(ended.exception())
    assert await submit(log, "c")
    assert keys_of(log.state) == ["a", "b", "c"]


async def test_cancellation_from_the_store_stops_nothing() -> None:
    log, store = await alone()
    store.commit_faults.append(cast("Any", asyncio.CancelledError()))

    assert await outcomes(submit(log, "a")) == [OutcomeUnknown]
    assert await outcomes(submit(log, "b")) == [1]


def bugged(_state: State) -> Planned:
    raise ZeroDivisionError


async def test_batch_size_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH_CHANGES_MAX", 3)
    monkeypatch.setattr(module, "BATCH_ROWS_MAX", 5)
    log, store = await alone()

    many = [submit(log, f"a{number}") for number in range(4)]
    large = submit(log, *"bcdefg")
    await asyncio.gather(*many, large, submit(log, "h"))

    assert store.commits == [[1, 2, 3], [4, 5], [6]]


async def test_change_cancelled_before_planning_is_withdrawn() -> None:
    log, store = await alone()
    store.gate.clear()
    first = submit(log, "a")
    await turns()
    second, third = submit(log, "b"), submit(log, "c")
    second.cancel()
    store.gate.set()

    assert await outcomes(first, third) == [1, 2]
    assert keys_of(log.state) == ["a", "c"]


async def test_withdrawn_changes_do_not_pile_up_behind_a_hanging_commit() -> None:
    log, store = await alone()
    store.gate.clear()
    first = submit(log, "a")
    await turns()
    kept = submit(log, "c")
    for _ in range(3 * module.BATCH_CHANGES_MAX):
        submit(log, "b").cancel()
    last = submit(log, "d")

    assert len(log._submissions.queue) <= module.BATCH_CHANGES_MAX
    store.gate.set()
    assert await outcomes(first, kept, last) == [1, 2, 3]


async def test_change_cancelled_after_planning_is_made() -> None:
    log, store = await alone()
    heard: list[Committed] = []
    log.subscribe(heard.append)
    store.gate.clear()
    first = submit(log, "a")
    await turns()
    first.cancel()
    store.gate.set()

    await submit(log, "b")
    assert keys_of(log.state) == ["a", "b"]
    assert [each.revision for each in heard] == [1, 2]


async def test_subscribers_receive_each_change_once() -> None:
    log, _ = await alone()
    heard: list[tuple[str, int, bool]] = []
    log.subscribe(lambda each: heard.append(("first", each.revision, done[0].done())))
    log.subscribe(lambda each: heard.append(("second", each.revision, "b" in keys_of(log.state))))

    done = [submit(log, "a"), log.submit(lambda _state: ({}, None), SERVER), submit(log, "b")]
    await asyncio.gather(*done)

    assert heard == [
        ("first", 1, False),
        ("second", 1, True),
        ("first", 2, False),
        ("second", 2, True),
    ]


@pytest.mark.parametrize("error", [RuntimeError("x"), asyncio.CancelledError(), SystemExit(1)])
async def test_failing_subscriber_does_not_affect_others(error: BaseException) -> None:
    log, _ = await alone()
    reported: list[object] = []
    heard: list[int] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: reported.append(context["exception"])
    )

    def failing(_committed: Committed) -> None:
        raise error

    log.subscribe(failing)
    log.subscribe(lambda each: heard.append(each.revision))

    assert (await submit(log, "a")).revision == 1
    assert (await submit(log, "b")).revision == 2
    assert reported == [error, error]
    assert heard == [1, 2]


async def test_subscriber_may_submit() -> None:
    log, _ = await alone()
    more: list[asyncio.Future[Any]] = []
    log.subscribe(lambda each: more.append(submit(log, "more")) if each.revision == 1 else None)

    assert await outcomes(submit(log, "a"), submit(log, "b")) == [1, 2]
    assert await outcomes(*more) == [3]


async def test_only_the_failing_change_fails() -> None:
    log, store = await alone()
    logger = RecordingLogger()
    log._log = logger
    store.culprits = {"bad"}
    store.gate.clear()
    first = submit(log, "a")
    await turns()
    plans: list[str] = []

    def planned(name: str) -> Plan[int]:
        def plan(state: State) -> Planned:
            plans.append(f"{name} on {state.revision}")
            return edit(CONFIG, set=[row(name)]), state.revision

        return plan

    futures = [log.submit(planned(name), SERVER) for name in ("b", "bad", "c")]
    store.gate.set()

    assert await outcomes(first, *futures) == [1, 2, StorageError, 3]
    # The result is that of the last run, on the state without the change that failed.
    assert futures[2].result().result == 2
    assert str(futures[1].exception()) == "bad cannot be stored"
    assert keys_of(log.state) == ["a", "b", "c"]
    assert plans == ["b on 1", "bad on 2", "c on 3", "b on 1", "bad on 2", "c on 2"]
    assert store.commits == [[1], [2, 3, 4], [2], [3], [3]]


async def test_plans_are_repeated_after_a_failure() -> None:
    log, store = await alone()
    store.culprits = {"bad"}

    bad = submit(log, "bad")
    behind = log.submit(counting, SERVER)
    again = log.submit(lambda state: setting(*keys_of(state), "z")(state), SERVER)

    assert await outcomes(bad, behind, again) == [StorageError, 1, 2]
    assert keys_of(log.state) == ["count", "z"]


async def test_consecutive_failures_leave_no_gap() -> None:
    log, store = await alone()
    store.culprits = {"bad"}

    futures = [submit(log, name) for number in range(5) for name in ("bad", f"good{number}")]

    expected = [each for number in range(1, 6) for each in (StorageError, number)]
    assert await outcomes(*futures) == expected


async def test_change_submitted_after_failure_is_stored() -> None:
    log, store = await alone()
    store.culprits = {"bad"}
    again: list[asyncio.Future[Any]] = []
    bad = submit(log, "bad")
    bad.add_done_callback(lambda _: again.append(submit(log, "again")))

    assert await outcomes(bad) == [StorageError]
    assert await outcomes(*again) == [1]


async def test_store_fault_fails_waiting_changes() -> None:
    log, store = await alone()
    logger = RecordingLogger()
    log._log = logger
    store.commit_faults = [RuntimeError("a bug")]
    store.gate.clear()
    first = submit(log, "a")
    await turns()
    second = submit(log, "b")
    store.gate.set()

    assert await outcomes(first, second) == [OutcomeUnknown, StorageError]
    assert "a bug" in str(second.exception())
    assert (await submit(log, "c")).revision == 1
    assert [event for _, event, _ in logger.lines] == ["the state log failed"]


class SlowClock:
    """A clock on which each look takes as long as a slice may."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += SLICE_S
        return self.now_s


async def test_long_plans_are_sliced() -> None:
    log, store = await alone(clock=SlowClock())
    slices: list[int] = []
    others: list[int] = []

    def plan(state: State) -> Slices[Planned]:
        for number in range(10):
            slices.append(number)
            others.append(elsewhere)
            yield
        return edit(CONFIG, set=[row("slow", str(len(keys_of(state))))]), None

    elsewhere = 0
    futures = [submit(log, "a"), log.submit(plan, SERVER), submit(log, "b")]
    while not futures[2].done():
        elsewhere += 1
        await asyncio.sleep(0)

    assert await outcomes(*futures) == [1, 2, 3]
    assert slices == list(range(10))
    assert len(set(others)) == 9  # the first two share a turn
    assert log.state.configs.get("", "slow") == row("slow", "1")
    assert store.commits == [[1, 2, 3]]


async def test_short_slices_share_a_turn() -> None:
    """As many as fit into the time; a plan that ends in it costs no turn."""
    log, _ = await alone(clock=lambda: 0.0)
    others: list[int] = []
    elsewhere = 0

    def plan(_state: State) -> Slices[Planned]:
        for _ in range(1_000):
            others.append(elsewhere)
            yield
        return setting("a")(_state)  # type: ignore[return-value]

    done = log.submit(plan, SERVER)
    while not done.done():
        elsewhere += 1
        await asyncio.sleep(0)

    assert len(set(others)) == 1


async def test_large_changes_are_applied_in_slices() -> None:
    """While they are written, and when another node wrote them."""
    database = Database()
    one, _ = await sharing(database, clock=SlowClock())
    two, _ = await sharing(database, clock=SlowClock())
    names = [f"k{number}" for number in range(2_000)]

    await submit(one, *names)
    waits = asyncio.ensure_future(turns(3))
    await database.ring()
    await waits
    assert keys_of(two.state) == []
    await turns()

    assert len(two.state.configs) == len(one.state.configs) == 2_000


async def test_large_stored_change_is_applied_eventually(monkeypatch: pytest.MonkeyPatch) -> None:
    log, store = await alone()
    tried = 0

    def apply_at_the_second_time(*arguments: Any) -> Slices[State]:
        nonlocal tried
        tried += 1
        yield
        if tried == 1:
            raise MemoryError
        return apply_at_once(*arguments)

    monkeypatch.setattr(module, "apply", apply_at_the_second_time)
    first = await submit(log, "a")
    monkeypatch.setattr(module, "apply", apply)

    assert first.revision == 1
    assert keys_of(log.state) == ["a"]
    assert (await submit(log, "b")).revision == 2
    assert store.commits == [[1], [2]]
