"""The queue from the event loop to the writer's thread: items that build events, and their lines.

The loop's thread puts, the writer's thread takes, builds and encodes. Some events must be kept and
always have room: those of a change, because it is made already, and while the disk hangs its
connection waits for up to the time-out; and those of the server itself, such as its start, because
they are rare. Decisions and logins are rejected and counted when the queue is full.
"""

from __future__ import annotations

import json
from asyncio import Future
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import msgspec
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
    """Completed when the events are written or lost: with a problem, or None."""


Queue = BoundedQueue[QueuedEvents]
"""The queue; its size is the number of events, of which long ones count as several."""


# --- lines

Fault = tuple[QueuedEvents, Exception]

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000


class Lines:
    """Encoder of one node's events. For the writer's thread."""

    def __init__(self, node: int) -> None:
        self._node = node
        self._encode = msgspec.json.Encoder().encode
        self._second = -1
        self._prefix = ""

    def of(self, items: Iterable[QueuedEvents], seq: int) -> tuple[bytes, int, list[Fault]]:
        """Return the lines of items, how many they are, and the items that have none.

        The first event gets ``seq``. An item that cannot be built costs no other one its lines.
        """
        lines: list[bytes] = []
        faults: list[Fault] = []
        for item in items:
            try:
                lines += self._of_one(item, seq + len(lines))
            except Exception as error:  # whatever a value of a plug-in raises
                faults.append((item, error))
        return b"".join(lines), len(lines), faults

    def _of_one(self, item: QueuedEvents, seq: int) -> list[bytes]:
        lines: list[bytes] = []
        time = self.time_text(item.ts_ns)
        for event in item.make():
            event.seq, event.node = seq + len(lines), self._node
            event.ts_ns, event.time = item.ts_ns, time
            try:
                line = self._encode(event)
            except UnicodeEncodeError:
                # UTF-8 cannot encode half of a surrogate pair, which a plug-in may pass.
                text = json.dumps(
                    msgspec.to_builtins(event), ensure_ascii=False, separators=(",", ":")
                )
                line = text.encode("utf-8", "replace")
            lines.append(line + b"\n")
        return lines

    def time_text(self, ts_ns: int) -> str:
        """Return a time as text: UTC, to the millisecond."""
        second, rest = divmod(ts_ns, NS_PER_S)
        if second != self._second:
            # Formatting once for each second saves most of the time.
            self._second = second
            self._prefix = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._prefix}.{rest // NS_PER_MS:03d}Z"
