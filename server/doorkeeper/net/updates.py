"""Waiting for what an authorizer, or the topics, return for an update: one awaitable per item.

Futures of asyncio, futures of threads and coroutines are all taken. They are looked at in order,
and only one of them at a time has a callback of ours: where one commit completes ten thousand,
that is ten thousand questions and not ten thousand callbacks.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from doorkeeper.errors import ApiError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

T = TypeVar("T")


class Items(Generic[T]):
    """The items of one update, complete or not.

    ``refused`` makes an item's result from an error. What awaitables raise is kept in ``errors``
    and answered with code -1, except an ApiError, which is an answer already.
    """

    __slots__ = ("_futures", "_next", "_on_done", "_refused", "_timer", "errors")

    def __init__(
        self,
        awaitables: Iterable[Awaitable[T] | concurrent.futures.Future[T]],
        refused: Callable[[ApiError], T],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Take the awaitables; coroutines begin to run."""
        self._futures = [_as_future(awaitable, loop) for awaitable in awaitables]
        self._refused = refused
        self._next = 0
        self._on_done: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.errors: list[BaseException] = []

    def __len__(self) -> int:
        return len(self._futures)

    def done(self) -> bool:
        """Say whether every item is complete."""
        futures = self._futures
        while self._next < len(futures) and futures[self._next].done():
            self._next += 1
        return self._next == len(futures)

    def when_done(
        self, on_done: Callable[[], None], loop: asyncio.AbstractEventLoop, timeout_s: float
    ) -> None:
        """Call ``on_done`` once: when every item is complete, or after the time."""
        self._on_done = on_done
        self._timer = loop.call_later(timeout_s, self._finish)
        self._look()

    def results(self) -> Sequence[T]:
        """Return the results in order; items that are not complete are timed out."""
        return [self._result(future) for future in self._futures]

    def _look(self, _completed: object = None) -> None:
        if self._on_done is None:
            return
        if self.done():
            self._finish()
        else:
            self._futures[self._next].add_done_callback(self._look)

    def _finish(self) -> None:
        on_done, self._on_done = self._on_done, None
        if self._timer is not None:
            self._timer.cancel()
        if on_done is not None:
            on_done()

    def _result(self, future: asyncio.Future[T]) -> T:
        if not future.done():
            # Nobody else will ask for it; what it raises later is nobody's surprise.
            future.add_done_callback(_forget)
            return self._refused(ApiError(ErrorCode.REQUEST_TIMED_OUT))
        if future.cancelled():
            error: BaseException | None = asyncio.CancelledError("an item was cancelled")
        else:
            error = future.exception()
        if error is None:
            return future.result()
        if isinstance(error, ApiError):
            return self._refused(error)
        self.errors.append(error)
        return self._refused(ApiError(ErrorCode.UNKNOWN_SERVER_ERROR))


class UnderWay:
    """The updates that are not complete, also those whose clients have left."""

    __slots__ = ("_items", "_none")

    def __init__(self) -> None:
        """Begin with none."""
        self._items: set[Items[Any]] = set()
        self._none = asyncio.Event()

    def __len__(self) -> int:
        return len(self._items)

    def add(self, items: Items[Any]) -> None:
        """Note that an update has begun."""
        self._items.add(items)

    def discard(self, items: Items[Any]) -> None:
        """Note that an update is over."""
        self._items.discard(items)
        if not self._items:
            self._none.set()

    async def none(self) -> None:
        """Wait until there is none."""
        while self._items:
            self._none.clear()
            await self._none.wait()


def _forget(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()


def _as_future(awaitable: Any, loop: asyncio.AbstractEventLoop) -> asyncio.Future[Any]:  # noqa: ANN401 - plug-ins return what they like
    if isinstance(awaitable, concurrent.futures.Future):
        return _of_thread(awaitable, loop)
    future: asyncio.Future[Any]
    try:
        future = asyncio.ensure_future(awaitable, loop=loop)
    except TypeError as error:
        future = loop.create_future()
        future.set_exception(error)
    return future


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
