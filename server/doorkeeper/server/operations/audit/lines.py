"""Encoding of events as lines: numbers, the time as text, JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.server.operations.audit.queue import QueuedEvents

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000


class Lines:
    """Encoder of one node's events. For the writer's thread."""

    def __init__(self, node: int) -> None:
        self._node = node
        self._encode = msgspec.json.Encoder().encode
        self._second = -1
        self._prefix = ""

    def of(self, items: Iterable[QueuedEvents], seq: int) -> tuple[bytes, int]:
        """Return the lines of items, and how many they are; the first event gets ``seq``."""
        lines: list[bytes] = []
        for item in items:
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
        return b"".join(lines), len(lines)

    def time_text(self, ts_ns: int) -> str:
        """Return a time as text: UTC, to the millisecond."""
        second, rest = divmod(ts_ns, NS_PER_S)
        if second != self._second:
            # Formatting once for each second saves most of the time.
            self._second = second
            self._prefix = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._prefix}.{rest // NS_PER_MS:03d}Z"
