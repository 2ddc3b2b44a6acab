"""Whatever a plug-in gives for later is a future of the loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
from typing import Any

import pytest

from doorkeeper.authorizer.awaiting import as_future, forget


async def result_of(awaitable: Any) -> Any:
    return await asyncio.wait_for(as_future(awaitable, asyncio.get_running_loop()), 20)


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
    """Result or exception, without a turn of the loop."""
    good: concurrent.futures.Future[int] = concurrent.futures.Future()
    good.set_result(7)
    bad: concurrent.futures.Future[int] = concurrent.futures.Future()
    bad.set_exception(OSError("gone"))
    loop = asyncio.get_running_loop()

    assert as_future(good, loop).result() == 7
    assert isinstance(as_future(bad, loop).exception(), OSError)


async def test_a_cancelled_future_of_a_thread_is_cancelled() -> None:
    """Whoever waits for it does not wait for ever."""
    given_up: concurrent.futures.Future[int] = concurrent.futures.Future()
    given_up.cancel()

    with pytest.raises(asyncio.CancelledError):
        await result_of(given_up)


@pytest.mark.parametrize("odd", [None, 7, "x", [coroutine]])
async def test_what_cannot_be_awaited_is_an_exception(odd: Any) -> None:
    """The text shows what was found."""
    with pytest.raises(TypeError, match="expected is an awaitable"):
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
