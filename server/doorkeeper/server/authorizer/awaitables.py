"""Awaits what authorizers complete later, such as one awaitable for each item of an update.

A plug-in may return a coroutine, a future of the loop, a future that a thread completes, or any
other awaitable. ``as_future`` turns each into a future of the loop; a wrong type becomes the
future's exception.

A future of the loop that another thread completes does not wake the loop, a common mistake in
plug-ins: pending futures are therefore polled ten times a second.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any, Final

from doorkeeper.server.config.plug_ins import called

LATE: Final = TimeoutError("it is not complete in time")

LOOK_AGAIN_S: Final = 0.1
"""The polling interval for futures that another thread may have completed."""


async def outcomes_of(awaitables: Iterable[Any], timeout_s: float) -> list[object]:
    """Await the items of an update; return the result or the exception of each, in order.

    That of an item that is not complete in time is ``LATE``.
    """
    loop = asyncio.get_running_loop()
    futures: list[asyncio.Future[Any]] = []
    last: Any = None
    for awaitable in awaitables:
        # Items may share a future.
        shared = bool(futures) and awaitable is last and futures[-1] is last
        futures.append(last if shared else as_future(awaitable, loop))
        last = awaitable
    await are_done(futures, timeout_s)
    return list(map(_outcome, futures))


async def are_done(futures: Sequence[asyncio.Future[Any]], timeout_s: float) -> bool:
    """Wait for futures of this loop; return whether all are done in time.

    Only one of them has a callback at a time. They go on if this wait ends.
    """
    time_s = asyncio.get_running_loop().time
    ends_s = time_s() + timeout_s
    for future in futures:
        while not future.done():
            left_s = ends_s - time_s()
            if left_s < 0:
                return False
            await asyncio.wait((future,), timeout=min(left_s, LOOK_AGAIN_S))
    return True


async def wait_for_decision(known: object, timeout_s: float) -> None:
    """Wait for the awaitable of a ``DecisionPending``, which goes on if this wait ends.

    Raises:
        TimeoutError: it is not complete in time, or the time was over before.
        Exception: raised by the awaitable.
    """
    loop = asyncio.get_running_loop()
    future = as_future(known, loop)
    if timeout_s <= 0:
        # Also if it is complete: a plug-in may raise it again and again.
        forget(future)
        raise TimeoutError
    if not await are_done((future,), timeout_s):
        forget(future)
        raise TimeoutError
    if future.cancelled():
        raise RuntimeError("the decision was cancelled")
    future.result()


def _outcome(future: asyncio.Future[Any]) -> object:
    if not future.done():
        forget(future)
        return LATE
    if future.cancelled():
        return asyncio.CancelledError("an item was cancelled")
    error = future.exception()
    return future.result() if error is None else error


def as_future(awaitable: object, loop: asyncio.AbstractEventLoop) -> asyncio.Future[Any]:
    """Return a future of this loop with the awaitable's result; starts coroutines."""
    if isinstance(awaitable, concurrent.futures.Future):
        if not awaitable.done() or awaitable.cancelled():
            return asyncio.wrap_future(awaitable, loop=loop)
        # Complete at once, not an iteration later.
        error = awaitable.exception()
        return _done(loop, error, None if error else awaitable.result())
    future: asyncio.Future[Any]
    if asyncio.isfuture(awaitable):
        future = awaitable
        if future.get_loop() is loop:
            return future
        return _done(loop, ValueError("the future belongs to another event loop"))
    if isinstance(awaitable, Awaitable):
        return loop.create_task(called(lambda: awaitable))
    return _done(loop, TypeError(f"found {awaitable!r:.80}; expected: an awaitable"))


def _done(
    loop: asyncio.AbstractEventLoop, error: BaseException | None, result: object = None
) -> asyncio.Future[Any]:
    future: asyncio.Future[Any] = loop.create_future()
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
    return future


def forget(future: asyncio.Future[Any]) -> None:
    """Ignore the result, and mark a present or future exception as retrieved."""
    if future.done():
        _read(future)
    else:
        future.add_done_callback(_read)


def _read(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
