"""A bounded queue to a thread of its own, so that slow disks and readers delay no event loop.

``put`` never blocks: without room it rejects, and the caller may count the loss, which the thread
gets with its next batch. A batch keeps its room until the thread comes back for the next one. The
standard library's ``QueueListener`` bounds records and not bytes, and takes them one by one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Lost(Struct, frozen=True):
    """How many items were lost, and the times of the first and last one, in ns."""

    items: int
    first_ns: int
    last_ns: int


class Batch(Struct, Generic[T], frozen=True):
    """The content of the queue: items in order, losses; ``is_last`` after ``close``."""

    items: list[T]
    lost: Lost | None
    is_last: bool


def _never() -> None:
    return None


class BoundedQueue(Generic[T]):
    """Items for one thread. Thread-safe."""

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self._items: list[T] = []
        self._lost: Lost | None = None
        self._closing = False
        self._taken = 0
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self.size = 0
        """Size of all queued items, including those that are being written."""

    def put(self, item: T, size: int = 1, *, must_be_kept: bool = False) -> bool:
        """Queue an item; return whether it was taken: there is room, or it must be kept."""
        with self._wake:
            full = self.size + size > self._size_max
            if self._closing or (full and not must_be_kept):
                return False
            self._items.append(item)
            self.size += size
            self._wake.notify()
        return True

    def lose(self, items: int = 1, at_ns: int = 0) -> None:
        """Count lost items. It does not wake the thread: without room it has work."""
        with self._wake:
            before = self._lost or Lost(0, at_ns, at_ns)
            self._lost = Lost(before.items + items, before.first_ns, at_ns)

    def start(
        self,
        name: str,
        work: Callable[[Batch[T]], None],
        *,
        timeout_s: Callable[[], float | None] = _never,
        end: Callable[[], None] = _never,
    ) -> None:
        """Start the thread: it calls ``work`` with each batch, and ``end`` after the last one.

        Work must not raise. An empty batch comes after ``timeout_s``; None: never.
        """

        def run() -> None:
            is_last = False
            while not is_last:
                batch = self.take(timeout_s())
                work(batch)
                is_last = batch.is_last
                del batch  # else its items live until the next one
            self.take(0)  # frees the room of the last items
            end()

        # A daemon: a disk or reader that hangs must not keep the process alive.
        self._thread = threading.Thread(target=run, name=name, daemon=True)
        self._thread.start()

    def close(self, timeout_s: float = 0) -> bool:
        """Let the thread end after what is queued; return whether it has ended in time."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join(timeout_s)
        return self._thread is None or not self._thread.is_alive()

    def take(self, timeout_s: float | None) -> Batch[T]:
        """Wait for content, the end or the time-out; return everything in the queue.

        For the thread. What it took before is written or lost by now: its room is free again.
        """
        with self._wake:
            self.size -= self._taken
            if not (self._items or self._lost or self._closing):
                self._wake.wait(timeout_s)
            self._taken = self.size
            batch = Batch(self._items, self._lost, self._closing)
            self._items, self._lost = [], None
        return batch
