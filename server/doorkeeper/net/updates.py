"""Waiting for what an authorizer, or the topics, return for an update: one awaitable per item.

Futures of asyncio, futures of threads and coroutines are all taken. They are looked at in order,
and only one of them at a time has a callback of ours: where one commit completes ten thousand,
that is ten thousand questions and not ten thousand callbacks.

A future of the loop that another thread completes does not wake the loop, which is a common slip
of plug-ins: while something waits, everything is looked at now and then.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from doorkeeper.authn.contract import Failure
from doorkeeper.authorizer.awaiting import as_future, forget
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.node import (
    AlterConfigs,
    AlterCredentials,
    ChangeToken,
    ChangeTopics,
    CreateAcls,
    DeleteAcls,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from doorkeeper.authn.contract import Step
    from doorkeeper.authorizer.contract import Eventually

T = TypeVar("T")

ACL_UPDATE: Final = "acl-update"

OPERATIONS: Final[dict[type, str]] = {
    CreateAcls: ACL_UPDATE,
    DeleteAcls: ACL_UPDATE,
    ChangeTopics: "topics",
    AlterConfigs: "configs",
    AlterCredentials: "credentials",
    ChangeToken: "tokens",
}
"""What waits, as metrics name it: an update of ACLs as KIP-504 does."""

LOOK_AGAIN_S: Final = 0.1
"""How often what waits is looked at, should nobody have said that it is complete."""


class Items(Generic[T]):
    """The items of one update, complete or not.

    ``refused`` makes an item's result from an error. What awaitables raise is kept in ``errors``
    and answered with code -1, except an ApiError, which is an answer already; so is a result that
    ``accepts`` does not. ``timed_out`` counts the items that were not complete. ``is_told`` is for
    whoever must be told once of what became of them.
    """

    __slots__ = (
        "_accepts",
        "_futures",
        "_next",
        "_on_done",
        "_refused",
        "_results",
        "_timer",
        "errors",
        "is_told",
        "timed_out",
    )

    def __init__(
        self,
        awaitables: Iterable[Eventually[T]],
        refused: Callable[[ApiError], T],
        loop: asyncio.AbstractEventLoop,
        accepts: Callable[[object], bool] | None = None,
    ) -> None:
        """Take the awaitables; coroutines begin to run."""
        self._futures = _futures(awaitables, loop)
        self._refused = refused
        self._accepts = accepts
        self.timed_out = 0
        self.is_told = False
        self._results: Sequence[T] | None = None
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

    def look(self) -> None:
        """Notice what is complete, should nobody have said so."""
        if self._on_done is not None and self.done():
            self._finish()

    def results(self) -> Sequence[T]:
        """Return the results in order; items that are not complete by now are timed out."""
        if self._results is None:
            self._results = self._taken()
        return self._results

    def _taken(self) -> list[T]:
        results: list[T] = []
        last: asyncio.Future[T] | None = None
        for future in self._futures:
            # Items of one fate share a future, a thousand of them: what is right is asked once.
            if future is last:
                results.append(results[-1])
                continue
            faults = self.timed_out + len(self.errors)
            results.append(self._result(future))
            last = future if faults == self.timed_out + len(self.errors) else None
        return results

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
            # Nobody else will ask for it.
            forget(future)
            self.timed_out += 1
            return self._refused(ApiError(ErrorCode.REQUEST_TIMED_OUT))
        if future.cancelled():
            error: BaseException | None = asyncio.CancelledError("an item was cancelled")
        else:
            error = future.exception()
        if error is None:
            result = future.result()
            if self._accepts is None or self._accepts(result):
                return result
            error = TypeError(f"found {result!r:.200} as the result of an item")
        if isinstance(error, ApiError):
            return self._refused(error)
        self.errors.append(error)
        return self._refused(ApiError(ErrorCode.UNKNOWN_SERVER_ERROR))


def _futures(
    awaitables: Iterable[Eventually[T]], loop: asyncio.AbstractEventLoop
) -> list[asyncio.Future[T]]:
    """Return a future for each awaitable; a future that follows itself is looked at once."""
    futures: list[asyncio.Future[T]] = []
    for awaitable in awaitables:
        if futures and futures[-1] is awaitable:
            futures.append(futures[-1])
        else:
            futures.append(as_future(awaitable, loop))
    return futures


class UnderWay:
    """The updates that are not complete, also those whose clients have left.

    ``updates`` counts them by their operation, a name of ``OPERATIONS``, and ``items`` their items.
    """

    __slots__ = ("_none", "_operations", "_timer", "items", "updates")

    def __init__(self) -> None:
        """Begin with none."""
        self._operations: dict[Items[Any], str] = {}
        self._none = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self.updates = dict.fromkeys(OPERATIONS.values(), 0)
        self.items = dict.fromkeys(OPERATIONS.values(), 0)

    def __len__(self) -> int:
        return len(self._operations)

    def add(self, items: Items[Any], operation: str) -> None:
        """Note that an update has begun."""
        self._operations[items] = operation
        self.updates[operation] += 1
        self.items[operation] += len(items)
        if self._timer is None:
            self._look_later()

    def discard(self, items: Items[Any]) -> None:
        """Note that an update is over."""
        operation = self._operations.pop(items)
        self.updates[operation] -= 1
        self.items[operation] -= len(items)
        if not self._operations:
            self._none.set()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(LOOK_AGAIN_S, self._look)

    def _look(self) -> None:
        self._timer = None
        for items in list(self._operations):
            items.look()
        if self._operations and self._timer is None:
            self._look_later()

    async def none(self) -> None:
        """Wait until there is none."""
        while self._operations:
            self._none.clear()
            await self._none.wait()


def step_of(done: asyncio.Future[Step]) -> Step:
    """Return what a mechanism's awaitable gave; one that raised refuses the client."""
    if done.cancelled():
        return Failure(None, "the authentication was cancelled")
    error = done.exception()
    if error is not None:
        return Failure(None, f"the mechanism failed: {type(error).__name__}")
    return done.result()
