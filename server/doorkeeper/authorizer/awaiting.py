"""What authorizers return for later, as futures of the loop.

A plug-in may give a coroutine, a future of the loop, a future that a thread completes, or any
object that can be awaited. Whatever it gives, there is a future, and what is wrong with it is the
future's exception.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any


def as_future(awaitable: Any, loop: asyncio.AbstractEventLoop) -> asyncio.Future[Any]:  # noqa: ANN401 - plug-ins return what they like
    """Return a future of this loop that has the awaitable's result; coroutines begin to run."""
    if isinstance(awaitable, concurrent.futures.Future):
        return _of_thread(awaitable, loop)
    future: asyncio.Future[Any]
    if asyncio.isfuture(awaitable):
        future = awaitable
        if future.get_loop() is loop:
            return future
        return _failed(loop, ValueError("the future belongs to another event loop"))
    if hasattr(awaitable, "__await__"):
        return loop.create_task(_contained(awaitable))
    return _failed(loop, TypeError(f"found {awaitable!r:.80}; expected is an awaitable"))


def _failed(loop: asyncio.AbstractEventLoop, error: Exception) -> asyncio.Future[Any]:
    future: asyncio.Future[Any] = loop.create_future()
    future.set_exception(error)
    return future


def forget(future: asyncio.Future[Any]) -> None:
    """Do without the result: what it raises, now or later, is nobody's surprise."""
    if future.done():
        _read(future)
    else:
        future.add_done_callback(_read)


def _read(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()


async def _contained(awaitable: Any) -> Any:  # noqa: ANN401 - as above
    """Wait; what would end the whole process is an error like any other."""
    try:
        return await awaitable
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(f"it raised {type(error).__name__}") from error


def _of_thread(
    future: concurrent.futures.Future[Any], loop: asyncio.AbstractEventLoop
) -> asyncio.Future[Any]:
    """Follow a thread's future; one that is complete is so at once, not a turn later."""
    if not future.done() or future.cancelled():
        return asyncio.wrap_future(future, loop=loop)
    copy: asyncio.Future[Any] = loop.create_future()
    error = future.exception()
    if error is None:
        copy.set_result(future.result())
    else:
        copy.set_exception(error)
    return copy
