"""doorkeeper.server.operations.audit.queue: numbers, times, JSON."""

from __future__ import annotations

import json

from doorkeeper.server.operations.audit.events import Reload, Stop
from doorkeeper.server.operations.audit.queue import Lines, QueuedEvents


def stop() -> Stop:
    return Stop()


def test_events_are_numbered() -> None:
    """Events get the node, numbers without gaps, and the time of their item."""
    items = [
        QueuedEvents(1_000_000_000, lambda: [stop(), stop()]),
        QueuedEvents(1_250_999_999, lambda: [stop()]),
    ]

    data, count, _ = Lines(7).of(items, 42)

    events = [json.loads(line) for line in data.splitlines()]
    assert count == 3
    assert data.endswith(b"\n")
    assert [event["seq"] for event in events] == [42, 43, 44]
    assert {event["node"] for event in events} == {7}
    assert [event["ts_ns"] for event in events] == [1_000_000_000, 1_000_000_000, 1_250_999_999]
    assert events[2]["time"] == "1970-01-01T00:00:01.250Z"


def test_lone_surrogate_is_replaced() -> None:
    """A text that has no form in UTF-8, which a plug-in may give, is written with "?"."""
    event = Reload(outcome="FAILED", reason="a\ud800b")

    data, _, _ = Lines(1).of([QueuedEvents(1, lambda: [event])], 1)

    assert json.loads(data)["reason"] == "a?b"
