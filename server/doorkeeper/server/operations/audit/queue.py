"""The queue from the event loop to the writer's thread: items that build events.

The loop's thread puts, the writer's thread takes, builds and encodes. Some events must be kept and
always have room: those of a change, because it is made already, and while the disk hangs its
connection waits for up to the time-out; and those of the server itself, such as its start, because
they are rare. Decisions and logins are rejected and counted when the queue is full.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Iterable

from msgspec import Struct

from doorkeeper.server.operations.audit.events import Event
from doorkeeper.server.runtime.bounded_queue import BoundedQueue


class QueuedEvents(Struct, frozen=True):
    """Events that the writer's thread builds later.

    ``happened`` is the number of occurrences in the events, ``changes`` that of changes among
    them, ``events`` the greatest number of events. Events that ``must_be_kept`` always have room in
    the queue, and with sync=strict are kept, in memory, while the disk fails.
    """

    ts_ns: int
    make: Callable[[], Iterable[Event]]
    events: int = 1
    happened: int = 1
    changes: int = 0
    must_be_kept: bool = False
    waiter: Future[str | None] | None = None
    """Completed when the events are written: with a problem, or None."""


class Loss(Struct, frozen=True):
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


class Queue(BoundedQueue[QueuedEvents]):
    """The queue; its size is the number of events, of which long ones count as several."""

    def put_events(self, item: QueuedEvents, room: int = 0) -> bool:
        """Queue an item; return whether there was room, or the item must be kept."""
        return self.put(item, max(room, item.events), must_be_kept=item.must_be_kept)
