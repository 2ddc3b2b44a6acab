"""Waiting for what plug-ins return."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
from typing import Any

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.authorizer.awaitables import as_future, forget, outcomes_of
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


async def test_all_kinds_are_taken() -> None:
    """Coroutines, futures of the loop, of threads, and what has __await__."""
    ours: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    of_thread: concurrent.futures.Future[int] = concurrent.futures.Future()
    waiting = [asyncio.ensure_future(result_of(each)) for each in (ours, of_thread)]
    await asyncio.sleep(0)
    ours.set_result(7)
    await asyncio.to_thread(of_thread.set_result, 7)

    assert await asyncio.gather(*waiting) == [7, 7]
    assert await result_of(coroutine()) == await result_of(Later()) == 7


async def test_a_complete_future_of_a_thread_is_complete_at_once() -> None:
    """Result or exception, without a turn of the loop; a cancelled one is cancelled."""
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
async def test_what_cannot_be_awaited_is_an_exception(odd: Any) -> None:
    """The text shows what was found."""
    with pytest.raises(TypeError, match="expected: an awaitable"):
        await result_of(odd)


async def test_a_future_of_another_loop_is_an_exception() -> None:
    """Waiting for it would never end."""
    other = asyncio.new_event_loop()
    try:
        with pytest.raises(ValueError, match="another event loop"):
            await result_of(other.create_future())
    finally:
        other.close()


@pytest.mark.parametrize("end", [SystemExit(3), KeyboardInterrupt()])
async def test_a_coroutine_cannot_end_the_process(end: BaseException) -> None:
    """What it raises is an error like any other."""

    async def ends() -> None:
        raise end

    with pytest.raises(RuntimeError, match=type(end).__name__):
        await result_of(ends())


async def test_forgotten_failures_are_nobodys_surprise() -> None:
    """Neither one that has failed nor one that fails later is reported when it is collected."""
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


async def test_results_come_in_order_whatever_completes_first() -> None:
    """Items completed backwards, by loop, thread and coroutine, are answered in order."""
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


async def test_an_item_that_fails_is_an_error_of_ours() -> None:
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


async def test_items_that_take_too_long_are_timed_out() -> None:
    """After the time, those that are complete have their results, the others 7; all in order."""
    never: asyncio.Future[AclCreateResult] = asyncio.get_running_loop().create_future()

    found = await results(never, completed(OK), never, timeout_s=0.0)

    assert codes(found) == [7, 0, 7]
    assert (found.errors, found.timed_out) == ([], 2)
    never.set_exception(RuntimeError("late"))
    del never
    await asyncio.sleep(0)
    gc.collect()  # a late failure that nothing asked for would be reported here


async def test_items_that_share_a_future_share_its_fate() -> None:
    """Each has its result in its place, and each that fails counts."""
    loop = asyncio.get_running_loop()
    shared, broken = completed(OK), failed(ValueError("broken"))
    late: asyncio.Future[AclCreateResult] = loop.create_future()

    found = await results(shared, shared, broken, broken, shared, late, late, timeout_s=0.0)

    assert codes(found) == [0, 0, -1, -1, 0, 7, 7]
    assert [str(error) for error in found.errors] == ["broken", "broken"]
    assert found.timed_out == 2


async def test_a_coroutine_given_twice_is_awaited_once() -> None:
    """Its second item fails: only futures can be shared."""

    async def created() -> AclCreateResult:
        return OK

    twice = created()

    assert codes(await results(twice, twice)) == [0, -1]


async def test_what_waits_is_looked_at_now_and_then() -> None:
    """A future that calls nothing back is noticed, like one that another thread completes."""

    class Silent(asyncio.Future[Any]):
        def add_done_callback(self, *_: Any, **__: Any) -> None: ...

    future = Silent()
    waiting = asyncio.ensure_future(results(future, completed(OK)))
    await asyncio.sleep(0)
    future.set_result(OK)

    async with asyncio.timeout(scaled(10)):
        assert codes(await waiting) == [0, 0]
