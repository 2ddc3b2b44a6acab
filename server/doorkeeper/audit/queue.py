"""What waits for the trail's thread: items with the events to be made of them, and who waits.

The loop's thread puts, the trail's thread takes; making and encoding events is the latter's work.
What is a change always has room: its connection is not read until it is written, which bounds how
many there are. Decisions and logins are refused, and counted, where the queue is full.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable, Iterable

    from doorkeeper.audit.events import Event

    Waiter = Future["str | None"]


class Item(NamedTuple):
    """Events that are made later, in the thread.

    ``happened`` says how often what they tell happened, ``events`` how many they are at most;
    ``is_change`` that they tell of a change, which may not be lost.
    """

    ts_ns: int
    make: Callable[[], Iterable[Event]]
    events: int = 1
    happened: int = 1
    is_change: bool = False


class Loss(NamedTuple):
    """How much is missing, and from when to when."""

    happened: int
    changes: int
    first_ns: int
    last_ns: int

    def and_also(self, other: Loss | None) -> Loss:
        """Return both as one."""
        if other is None:
            return self
        return Loss(
            self.happened + other.happened,
            self.changes + other.changes,
            min(self.first_ns, other.first_ns),
            max(self.last_ns, other.last_ns),
        )


class Batch(NamedTuple):
    """All that was taken at once: items in order, who waits for them, and what had no room."""

    items: list[Item]
    waiting: list[Waiter]
    lost: Loss | None
    closing: bool


class Queue:
    """A bounded queue from the loop's thread to the trail's."""

    def __init__(self, events_max: int) -> None:
        """Begin empty."""
        self._events_max = events_max
        self._items: list[Item] = []
        self._waiting: list[Waiter] = []
        self._lost: Loss | None = None
        self._closing = False
        self._wake = threading.Condition()
        self.length = 0
        """How many events wait, those that are being written among them."""

    def has_room(self, events: int) -> bool:
        """Say whether so many events have room; who puts may rely on it, the thread only adds."""
        return self.length + events <= self._events_max

    def put(self, item: Item) -> bool:
        """Queue an item; say whether there was room. Always true for a change."""
        with self._wake:
            if not (item.is_change or self.has_room(item.events)):
                return False
            self._items.append(item)
            self.length += item.events
            self._wake.notify()
        return True

    def lose(self, happened: int, ts_ns: int) -> None:
        """Count what had no room; the thread writes it down when there is room again."""
        with self._wake:
            self._lost = Loss(happened, 0, ts_ns, ts_ns).and_also(self._lost)

    def when_written(self, waiter: Waiter) -> None:
        """Have a future completed when all before it is written: with a problem, or None."""
        with self._wake:
            self._waiting.append(waiter)
            self._wake.notify()

    def close(self) -> None:
        """Tell the thread that nothing else comes."""
        with self._wake:
            self._closing = True
            self._wake.notify()

    # --- the trail's thread

    def take(self, timeout_s: float | None) -> Batch:
        """Wait until there is something, or the time is over; return all there is."""
        with self._wake:
            if not (self._items or self._waiting or self._closing):
                self._wake.wait(timeout_s)
            batch = Batch(self._items, self._waiting, self._lost, self._closing)
            self._items, self._waiting, self._lost = [], [], None
        return batch

    def done(self, events: int) -> None:
        """Give back the room of what has been taken and is written, or lost."""
        with self._wake:
            self.length -= events
