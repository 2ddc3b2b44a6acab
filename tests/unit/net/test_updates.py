"""Waiting for the items of an update."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
from collections.abc import Awaitable
from typing import Any

from doorkeeper.authorizer.contract import AclCreateResult
from doorkeeper.authorizer.returned import is_create_result
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.exchange import UPDATES
from doorkeeper.net.updates import ACL_UPDATE, OPERATIONS, Items, UnderWay
from testkit.edge import done, until

OK = AclCreateResult()


def items_of(*awaitables: Any) -> Items[AclCreateResult]:
    return Items(awaitables, AclCreateResult, asyncio.get_running_loop())


def code_of(result: AclCreateResult) -> int:
    return result.error.code if result.error else 0


async def finished(items: Items[Any], timeout_s: float = 20.0) -> list[int]:
    over = asyncio.Event()
    items.when_done(over.set, asyncio.get_running_loop(), timeout_s)
    await over.wait()
    return [code_of(result) for result in items.results()]


def failed(error: BaseException) -> asyncio.Future[AclCreateResult]:
    future: asyncio.Future[AclCreateResult] = asyncio.get_running_loop().create_future()
    future.set_exception(error)
    return future


def of_thread(result: Any) -> concurrent.futures.Future[Any]:
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
    return future


async def test_complete_futures_are_complete_at_once() -> None:
    """Futures of the loop and of threads that are complete need no turn of the loop."""
    items = items_of(done(OK), of_thread(OK), of_thread(ValueError("x")))

    assert items.done()
    assert [code_of(result) for result in items.results()] == [0, 0, -1]
    assert len(items.errors) == 1


async def test_no_items_are_complete() -> None:
    """An update without items has nothing to wait for."""
    assert items_of().done()


async def test_results_come_in_order_whatever_completes_first() -> None:
    """Items completed backwards, by loop, thread and coroutine, are answered in order."""
    loop = asyncio.get_running_loop()
    first, second = loop.create_future(), loop.create_future()
    third: concurrent.futures.Future[AclCreateResult] = concurrent.futures.Future()

    async def fourth() -> AclCreateResult:
        return AclCreateResult(ApiError(ErrorCode.INVALID_REQUEST))

    items = items_of(first, second, third, fourth())
    assert not items.done()
    waiting = asyncio.ensure_future(finished(items))
    await asyncio.sleep(0)
    await asyncio.to_thread(third.set_result, AclCreateResult(ApiError(ErrorCode.NOT_CONTROLLER)))
    second.set_result(OK)
    assert not waiting.done()
    first.set_result(AclCreateResult(ApiError(ErrorCode.POLICY_VIOLATION)))

    assert await waiting == [44, 0, 41, 42]


async def test_an_item_that_raises_is_an_error_of_ours() -> None:
    """-1 for that item alone, and the exception is kept; an ApiError is its own answer."""
    refused = ApiError(ErrorCode.INVALID_REQUEST, "no")
    boom = RuntimeError("boom")
    cancelled: asyncio.Future[AclCreateResult] = asyncio.get_running_loop().create_future()
    cancelled.cancel()
    items = items_of(done(OK), failed(boom), failed(refused), cancelled)

    assert await finished(items) == [0, -1, 42, -1]
    assert items.errors[0] is boom
    assert len(items.errors) == 2


async def test_what_is_no_awaitable_is_an_error_of_ours() -> None:
    """A plug-in that returns something else gets -1 for that item."""
    items = items_of(done(OK), 17)

    assert await finished(items) == [0, -1]
    assert isinstance(items.errors[0], TypeError)


async def test_awaitables_of_any_kind_are_taken() -> None:
    """An object with __await__ is waited for."""

    class Later(Awaitable[AclCreateResult]):
        def __await__(self) -> Any:
            yield from asyncio.sleep(0).__await__()
            return OK

    assert await finished(items_of(Later())) == [0]


async def test_items_that_take_too_long_are_timed_out() -> None:
    """After the time, those that are complete have their results, the others 7; all in order."""
    never: asyncio.Future[AclCreateResult] = asyncio.get_running_loop().create_future()
    items = items_of(never, done(OK))

    assert await finished(items, timeout_s=0.0) == [7, 0]
    assert items.errors == []

    never.set_exception(RuntimeError("late"))
    del never, items
    await asyncio.sleep(0)
    gc.collect()  # a late failure that nobody asked for would be reported here


async def test_it_is_over_once() -> None:
    """Neither the time nor a late item calls a second time."""
    calls: list[int] = []
    late: asyncio.Future[AclCreateResult] = asyncio.get_running_loop().create_future()
    items = items_of(late)
    items.when_done(lambda: calls.append(1), asyncio.get_running_loop(), 0.0)
    await until(lambda: bool(calls))

    late.set_result(OK)
    await asyncio.sleep(0)

    assert calls == [1]


async def test_one_commit_of_many_items_is_quick() -> None:
    """Only one item at a time has a callback of ours."""
    loop = asyncio.get_running_loop()
    futures = [loop.create_future() for _ in range(10_000)]
    items = items_of(*futures)
    waiting = asyncio.ensure_future(finished(items))
    await asyncio.sleep(0)

    assert sum(bool(future._callbacks) for future in futures) == 1
    for future in futures:
        future.set_result(OK)

    assert sum(await waiting) == 0


async def test_under_way_ends_when_all_have() -> None:
    """Waiting for none ends with the last update."""
    under_way = UnderWay()
    first, second = items_of(), items_of()
    under_way.add(first, ACL_UPDATE)
    under_way.add(second, "topics")
    assert (under_way.updates[ACL_UPDATE], under_way.updates["topics"]) == (1, 1)
    waiting = asyncio.ensure_future(under_way.none())
    await asyncio.sleep(0)
    under_way.discard(first)
    await asyncio.sleep(0)
    assert (len(under_way), waiting.done()) == (1, False)

    under_way.discard(second)

    await waiting
    await under_way.none()


async def test_a_result_of_another_type_is_an_error_of_ours() -> None:
    """-1 for that item alone; what was found is kept."""
    loop = asyncio.get_running_loop()
    items = Items([done(OK), done(None), done(True)], AclCreateResult, loop, is_create_result)

    assert await finished(items) == [0, -1, -1]
    assert [str(error) for error in items.errors] == [
        "found None as the result of an item",
        "found True as the result of an item",
    ]


async def test_items_that_share_a_future_share_its_fate() -> None:
    """Each has its result in its place, and each that fails is told of."""
    loop = asyncio.get_running_loop()
    shared, broken = done(OK), failed(ValueError("broken"))
    late: asyncio.Future[AclCreateResult] = loop.create_future()
    items = items_of(shared, shared, broken, broken, shared, late, late)

    assert await finished(items, timeout_s=0.0) == [0, 0, -1, -1, 0, 7, 7]
    assert [str(error) for error in items.errors] == ["broken", "broken"]
    assert items.timed_out == 2


async def test_a_coroutine_given_twice_is_awaited_once() -> None:
    """Its second item fails: only futures can be shared."""

    async def created() -> AclCreateResult:
        return OK

    twice = created()

    assert await finished(items_of(twice, twice)) == [0, -1]


async def test_items_that_are_timed_out_are_counted() -> None:
    """Those that are complete are not."""
    loop = asyncio.get_running_loop()
    items = items_of(loop.create_future(), done(OK), loop.create_future())

    await finished(items, timeout_s=0.0)

    assert items.timed_out == 2


async def test_what_waits_is_looked_at_now_and_then() -> None:
    """One that is complete without a word is noticed; and the items of all updates are counted."""

    class Silent(asyncio.Future[Any]):
        """Tells nobody, like one that another thread completes."""

        def add_done_callback(self, *_: Any, **__: Any) -> None: ...

    future = Silent()
    items, under_way, over = items_of(future, done(OK)), UnderWay(), asyncio.Event()

    def on_done() -> None:
        under_way.discard(items)
        over.set()

    items.when_done(on_done, asyncio.get_running_loop(), 20.0)
    under_way.add(items, ACL_UPDATE)
    assert under_way.items == dict.fromkeys(under_way.items, 0) | {ACL_UPDATE: 2}
    future.set_result(OK)

    async with asyncio.timeout(10):
        await over.wait()
    assert (sum(under_way.items.values()), len(under_way)) == (0, 0)


def test_everything_that_waits_has_a_name() -> None:
    """Each outcome that is no answer yet is an operation that metrics name."""
    assert set(OPERATIONS) == UPDATES
