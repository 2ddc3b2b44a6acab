"""Waiting for what plug-ins return."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
from typing import Any

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.authorizer.awaitables import (
    as_future,
    forget,
    outcomes_of,
    wait_for_decision,
)
from doorkeeper.server.authorizer.contract import AclCreateResult, completed
from doorkeeper.server.authorizer.result_checks import CREATION, results_of
from doorkeeper.server.state.outcome import Results
from testkit.load import scaled


async def result_of(awaitable: Any) -> Any:
    return await asyncio.wait_for(as_future(awaitable, asyncio.get_running_loop()), scaled(20))


class Later:
    """Neither a coroutine nor a future, but it can be awaited."""

    def __await__(self) -> Any:
        yield from asyncio.sleep(0).__await__()
        return 7


async def coroutine() -> int:
    await asyncio.sleep(0)
    return 7


async def test_all_awaitables_are_accepted() -> None:
    ours: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    of_thread: concurrent.futures.Future[int] = concurrent.futures.Future()
    waiting = [asyncio.ensure_future(result_of(each)) for each in (ours, of_thread)]
    await asyncio.sleep(0)
    ours.set_result(7)
    await asyncio.to_thread(of_thread.set_result, 7)

    assert await asyncio.gather(*waiting) == [7, 7]
    assert await result_of(coroutine()) == await result_of(Later()) == 7


async def test_completed_thread_future_is_immediate() -> None:
    good, bad, given_up = (concurrent.futures.Future[int]() for _ in range(3))
    good.set_result(7)
    bad.set_exception(OSError("gone"))
    given_up.cancel()
    loop = asyncio.get_running_loop()

    assert as_future(good, loop).result() == 7
    assert isinstance(as_future(bad, loop).exception(), OSError)
    with pytest.raises(asyncio.CancelledError):
        await result_of(given_up)


@pytest.mark.parametrize("odd", [None, 7, "x", [coroutine]])
async def test_non_awaitable_is_an_error(odd: Any) -> None:
    with pytest.raises(TypeError, match="expected: an awaitable"):
        await result_of(odd)


async def test_future_of_another_loop_is_an_error() -> None:
    other = asyncio.new_event_loop()
    try:
        with pytest.raises(ValueError, match="another event loop"):
            await result_of(other.create_future())
    finally:
        other.close()


@pytest.mark.parametrize("end", [SystemExit(3), KeyboardInterrupt()])
async def test_coroutine_cannot_end_the_process(end: BaseException) -> None:
    async def ends() -> None:
        raise end

    with pytest.raises(RuntimeError, match=type(end).__name__):
        await result_of(ends())


@pytest.mark.usefixtures("young_heap")
async def test_unretrieved_failures_are_not_reported() -> None:
    loop = asyncio.get_running_loop()
    failed, later = loop.create_future(), loop.create_future()
    given_up = loop.create_future()
    given_up.cancel()
    failed.set_exception(OSError("gone"))
    for future in (failed, later, given_up):
        forget(future)
    later.set_exception(OSError("gone"))
    await asyncio.sleep(0)

    del failed, later, given_up, future
    gc.collect()


async def test_decision_that_is_known_again_and_again_ends() -> None:
    """A plug-in may raise what is complete: its request ends at the deadline all the same."""
    known = completed(None)
    await wait_for_decision(known, 1.0)

    with pytest.raises(TimeoutError):
        await wait_for_decision(known, 0.0)


# --- the items of an update

OK = AclCreateResult()


async def results(*awaitables: Any, timeout_s: float = 20.0) -> Results:
    return await results_of(await outcomes_of(awaitables, timeout_s), CREATION)


def codes(found: Results) -> list[int]:
    return [each.error.code if each.error else 0 for each in found.values]


def failed(error: BaseException) -> asyncio.Future[AclCreateResult]:
    future: asyncio.Future[AclCreateResult] = asyncio.get_running_loop().create_future()
    future.set_exception(error)
    return future


async def test_no_items_have_no_results() -> None:
    """An update without items has nothing to wait for."""
    assert await results() == Results([], [], 0)


async def test_results_are_in_item_order() -> None:
    loop = asyncio.get_running_loop()
    first, second = loop.create_future(), loop.create_future()
    third: concurrent.futures.Future[AclCreateResult] = concurrent.futures.Future()

    async def fourth() -> AclCreateResult:
        return AclCreateResult(ApiError(ErrorCode.INVALID_REQUEST))

    waiting = asyncio.ensure_future(results(first, second, third, fourth()))
    await asyncio.sleep(0)
    await asyncio.to_thread(third.set_result, AclCreateResult(ApiError(ErrorCode.NOT_CONTROLLER)))
    second.set_result(OK)
    assert not waiting.done()
    first.set_result(AclCreateResult(ApiError(ErrorCode.POLICY_VIOLATION)))

    assert codes(await waiting) == [44, 0, 41, 42]


async def test_failed_item_does_not_affect_others() -> None:
    """-1 for that item alone, and what was found is kept; an ApiError is its own answer."""
    refused = ApiError(ErrorCode.INVALID_REQUEST, "no")
    boom = RuntimeError("boom")
    cancelled: asyncio.Future[AclCreateResult] = asyncio.get_running_loop().create_future()
    cancelled.cancel()

    found = await results(
        completed(OK),
        failed(boom),
        failed(refused),
        cancelled,
        17,
        completed(None),
        completed(True),
    )

    assert codes(found) == [0, -1, 42, -1, -1, -1, -1]
    assert found.errors[0] is boom
    assert isinstance(found.errors[2], TypeError)
    assert [str(error) for error in found.errors[3:]] == [
        "found None as the result of an item",
        "found True as the result of an item",
    ]


@pytest.mark.usefixtures("young_heap")
async def test_slow_items_time_out() -> None:
    """After the time, those that are complete have their results, the others 7; all in order."""
    never: asyncio.Future[AclCreateResult] = asyncio.get_running_loop().create_future()

    found = await results(never, completed(OK), never, timeout_s=0.0)

    assert codes(found) == [7, 0, 7]
    assert (found.errors, found.timed_out) == ([], 2)
    never.set_exception(RuntimeError("late"))
    del never
    await asyncio.sleep(0)
    gc.collect()  # a late failure that nothing asked for would be reported here


async def test_shared_future_completes_all_its_items() -> None:
    loop = asyncio.get_running_loop()
    shared, broken = completed(OK), failed(ValueError("broken"))
    late: asyncio.Future[AclCreateResult] = loop.create_future()

    found = await results(shared, shared, broken, broken, shared, late, late, timeout_s=0.0)

    assert codes(found) == [0, 0, -1, -1, 0, 7, 7]
    assert [str(error) for error in found.errors] == ["broken", "broken"]
    assert found.timed_out == 2


async def test_reused_coroutine_fails() -> None:
    async def created() -> AclCreateResult:
        return OK

    twice = created()

    assert codes(await results(twice, twice)) == [0, -1]


async def test_pending_futures_are_polled() -> None:
    class Silent(asyncio.Future[Any]):
        def add_done_callback(self, *_: Any, **__: Any) -> None: ...

    future = Silent()
    waiting = asyncio.ensure_future(results(future, completed(OK)))
    await asyncio.sleep(0)
    future.set_result(OK)

    async with asyncio.timeout(scaled(10)):
        assert codes(await waiting) == [0, 0]
