"""Awaits the results of an update: one awaitable for each item.

A plug-in may return a coroutine, a future of the loop, a future that a thread completes, or any
other awaitable. ``as_future`` turns each into a future of the loop; a wrong type becomes the
future's exception.

A future of the loop that another thread completes does not wake the loop, a common mistake in
plug-ins: pending futures are therefore polled ten times a second.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.state.outcome import Results

T = TypeVar("T")

LOOK_AGAIN_S: Final = 0.1
"""The polling interval for futures that another thread may have completed."""


async def results_of(
    awaitables: Iterable[Any],
    refused: Callable[[ApiError], T],
    accepts: Callable[[Any], bool],
    timeout_s: float,
) -> Results:
    """Await the items of an update; return their results, in order.

    ``refused`` creates an item's result from an error. An ``ApiError`` raised by an awaitable is
    its result. Any other exception, or a result that ``accepts`` rejects, becomes error -1 and is
    kept in ``errors``; an item that is not complete in time becomes REQUEST_TIMED_OUT.
    """
    loop = asyncio.get_running_loop()
    futures: list[asyncio.Future[Any]] = []
    last: Any = None
    for awaitable in awaitables:
        # A change of the standard authorizer returns one shared future for all its items.
        shared = bool(futures) and awaitable is last and futures[-1] is last
        futures.append(last if shared else as_future(awaitable, loop))
        last = awaitable
    await _wait(futures, loop.time() + timeout_s)
    return _results(futures, refused, accepts)


async def _wait(futures: Sequence[asyncio.Future[Any]], ends_s: float) -> None:
    """Wait for all, up to the deadline; only one of them has a callback at a time."""
    time_s = asyncio.get_running_loop().time
    for future in futures:
        while not future.done():
            left_s = ends_s - time_s()
            if left_s < 0:
                return
            await asyncio.wait((future,), timeout=min(left_s, LOOK_AGAIN_S))


async def wait_for_decision(known: object, timeout_s: float) -> None:
    """Wait for the awaitable of a ``DecisionPending``, which goes on if this wait ends.

    Raises:
        TimeoutError: it is not complete in time.
        Exception: raised by the awaitable.
    """
    loop = asyncio.get_running_loop()
    future = as_future(known, loop)
    await _wait((future,), loop.time() + timeout_s)
    if not future.done():
        forget(future)
        raise TimeoutError
    if future.cancelled():
        raise RuntimeError("the decision was cancelled")
    future.result()


def _results(
    futures: Sequence[asyncio.Future[Any]],
    refused: Callable[[ApiError], T],
    accepts: Callable[[Any], bool],
) -> Results:
    values: list[T] = []
    errors: list[BaseException] = []
    timed_out = 0
    last: asyncio.Future[Any] | None = None
    for future in futures:
        if future is last:
            values.append(values[-1])
            continue
        last = None
        if not future.done():
            forget(future)
            timed_out += 1
            values.append(refused(ApiError(ErrorCode.REQUEST_TIMED_OUT)))
            continue
        found = _outcome(future, accepts)
        if isinstance(found, ApiError):
            values.append(refused(found))
        elif isinstance(found, BaseException):
            errors.append(found)
            values.append(refused(ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)))
        else:
            last = future
            values.append(found)
    return Results(values, errors, timed_out)


def _outcome(future: asyncio.Future[Any], accepts: Callable[[Any], bool]) -> Any:  # noqa: ANN401 - plug-ins return what they like
    """Return the result of a complete future, or its error."""
    if future.cancelled():
        return asyncio.CancelledError("an item was cancelled")
    error = future.exception()
    if error is not None:
        return error
    result = future.result()
    return (
        result if accepts(result) else TypeError(f"found {result!r:.200} as the result of an item")
    )


def as_future(awaitable: object, loop: asyncio.AbstractEventLoop) -> asyncio.Future[Any]:
    """Return a future of this loop with the awaitable's result; starts coroutines."""
    if isinstance(awaitable, concurrent.futures.Future):
        return _follow_thread(awaitable, loop)
    future: asyncio.Future[Any]
    if asyncio.isfuture(awaitable):
        future = awaitable
        if future.get_loop() is loop:
            return future
        return _failed_future(loop, ValueError("the future belongs to another event loop"))
    if hasattr(awaitable, "__await__"):
        return loop.create_task(_call_safely(awaitable))
    return _failed_future(loop, TypeError(f"found {awaitable!r:.80}; expected is an awaitable"))


def _failed_future(loop: asyncio.AbstractEventLoop, error: Exception) -> asyncio.Future[Any]:
    future: asyncio.Future[Any] = loop.create_future()
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


async def _call_safely(awaitable: Any) -> object:  # noqa: ANN401 - as above
    try:
        return await awaitable
    # A plug-in must not end the process.
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(f"it raised {type(error).__name__}") from error


def _follow_thread(
    future: concurrent.futures.Future[Any], loop: asyncio.AbstractEventLoop
) -> asyncio.Future[Any]:
    """Follow a thread's future; a complete one is complete at once, not an iteration later."""
    if not future.done() or future.cancelled():
        return asyncio.wrap_future(future, loop=loop)
    copy: asyncio.Future[Any] = loop.create_future()
    error = future.exception()
    if error is None:
        copy.set_result(future.result())
    else:
        copy.set_exception(error)
    return copy
