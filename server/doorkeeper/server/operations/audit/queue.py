"""The queue from the event loop to the writer's thread: items that build events, and waiters.

The loop's thread puts, the writer's thread takes, builds and encodes. Some events must be kept and
always have room: those of a change, because its connection is not read until it is written, which
bounds their number; and those of the server itself, such as its start, because they are rare.
Decisions and logins are rejected and counted when the queue is full.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable, Iterable

    from doorkeeper.server.operations.audit.events import Event

    Waiter = Future["str | None"]


class QueuedEvents(NamedTuple):
    """Events that the writer's thread builds later.

    ``happened`` is the number of occurrences in the events, ``changes`` that of changes among
    them, ``events`` the greatest number of events. Events that ``must_be_kept`` always have room in
    the queue, and with sync=strict are never lost.
    """

    ts_ns: int
    make: Callable[[], Iterable[Event]]
    events: int = 1
    happened: int = 1
    changes: int = 0
    must_be_kept: bool = False


class Loss(NamedTuple):
    """The number of missing occurrences and changes, and the times of the first and last one."""

    happened: int
    changes: int
    first_ns: int
    last_ns: int

    def and_also(self, other: Loss | None) -> Loss:
        """Return the sum of both."""
        if other is None:
            return self
        return Loss(
            self.happened + other.happened,
            self.changes + other.changes,
            min(self.first_ns, other.first_ns),
            max(self.last_ns, other.last_ns),
        )


class Batch(NamedTuple):
    """The content of the queue: items in order, their waiters, and the losses."""

    items: list[QueuedEvents]
    waiting: list[Waiter]
    lost: Loss | None
    closing: bool


class Queue:
    """A bounded queue between two threads."""

    def __init__(self, events_max: int) -> None:
        self._events_max = events_max
        self._items: list[QueuedEvents] = []
        self._waiting: list[Waiter] = []
        self._lost: Loss | None = None
        self._closing = False
        self._taken = 0
        self._wake = threading.Condition()
        self.length = 0
        """Number of queued events, including those that are being written."""

    def put(self, item: QueuedEvents, waiter: Waiter | None = None) -> bool:
        """Queue an item; return whether there was room, or the item must be kept.

        The waiter of an item is completed when the item is written: with a problem, or None.
        """
        with self._wake:
            if not (item.must_be_kept or self.length + item.events <= self._events_max):
                return False
            self._items.append(item)
            if waiter is not None:
                self._waiting.append(waiter)
            self.length += item.events
            self._wake.notify()
        return True

    def lose(self, happened: int, ts_ns: int) -> None:
        """Count events without room; the thread records the loss when there is room again."""
        with self._wake:
            self._lost = Loss(happened, 0, ts_ns, ts_ns).and_also(self._lost)

    def close(self) -> None:
        """Tell the thread that no further items follow."""
        with self._wake:
            self._closing = True
            self._wake.notify()

    # --- the writer's thread

    def take(self, timeout_s: float | None) -> Batch:
        """Wait for content or the time-out; return everything in the queue.

        The items of the call before are written or lost by now: their room is free again.
        """
        with self._wake:
            self.length -= self._taken
            if not (self._items or self._closing):
                self._wake.wait(timeout_s)
            self._taken = self.length
            # All that waits is taken at once: the waiters of one batch share its sync.
            batch = Batch(self._items, self._waiting, self._lost, self._closing)
            self._items, self._waiting, self._lost = [], [], None
        return batch
