"""doorkeeper.server.operations.audit.queue: what waits for the thread."""

from __future__ import annotations

import threading

from doorkeeper.server.operations.audit.queue import Queue, QueuedEvents
from testkit.load import scaled


def item(ts_ns: int = 1, events: int = 1, *, must_be_kept: bool = False) -> QueuedEvents:
    return QueuedEvents(ts_ns, list, events=events, must_be_kept=must_be_kept)


def test_no_room() -> None:
    """A full queue rejects decisions, but no events that must be kept; what is taken has its room
    until the thread comes back."""
    queue = Queue(10)

    assert queue.put(item(events=10))
    assert not queue.put(item())
    assert queue.put(item(must_be_kept=True))
    assert queue.length == 11
    queue.take(0)
    assert not queue.put(item())
    queue.take(0)
    assert queue.length == 0
    assert queue.put(item())


def test_a_thread_that_waits_is_woken() -> None:
    """An item and the end each wake the thread."""
    queue = Queue(10)
    for act in (lambda: queue.put(item()), queue.close):
        taken: list[object] = []
        thread = threading.Thread(target=lambda to: to.append(queue.take(30)), args=(taken,))
        thread.start()
        act()
        thread.join(scaled(10))
        assert len(taken) == 1
