"""Meters of the store, the audit log and reloads, given to these parts.

Without ``Meters`` their numbers are not published; counting costs next to nothing.
"""

from __future__ import annotations

from functools import partial

from msgspec import Struct

from doorkeeper.server.runtime.metrics import table
from doorkeeper.server.runtime.metrics.series import Meters


class StoreStatus(Struct, frozen=True):
    """A node's view of its store at one time.

    ``revision`` is the one that it decides from, ``head_revision`` the newest one known, and
    ``age_s`` the time since the node last knew that there was nothing newer; 0 where no other node
    writes.
    """

    reachable: bool
    revision: int
    head_revision: int
    age_s: float = 0.0


class StoreMeter:
    """The series of a store's transactions, for the one thread that writes.

    ``failed`` counts those that stored nothing, ``changes`` the changes of the others.
    """

    __slots__ = ("changes", "failed", "reconnects", "seconds", "stored")

    def __init__(self, meters: Meters | None = None) -> None:
        meters = meters or Meters()
        self.stored = meters.counter(table.STORE_COMMITS, "stored")
        self.failed = meters.counter(table.STORE_COMMITS, "failed")
        self.changes = meters.counter(table.STORE_CHANGES)
        self.seconds = meters.histogram(table.COMMIT_SECONDS)
        self.reconnects = meters.counter(table.STORE_RECONNECTS)


class AuditMeter:
    """The series of the audit log.

    ``dropped`` counts events without room in the queue, for the loop's thread; the others are the
    writer's. ``queue`` registers a reader of the queue's length.
    """

    __slots__ = ("dropped", "lost", "queue", "sync_seconds", "written")

    def __init__(self, meters: Meters | None = None) -> None:
        meters = meters or Meters()
        self.written = meters.counter(table.AUDIT_WRITTEN)
        self.dropped = meters.counter(table.AUDIT_DROPPED, "queue full")
        self.lost = meters.counter(table.AUDIT_DROPPED, "not written")
        self.sync_seconds = meters.histogram(table.AUDIT_SYNC_SECONDS)
        self.queue = partial(meters.read, table.AUDIT_QUEUED)


class ReloadMeter:
    """Counts reloads of the configuration. Not thread-safe."""

    __slots__ = ("_applied", "_last", "_refused")

    def __init__(self, meters: Meters | None = None) -> None:
        meters = meters or Meters()
        self._applied = meters.counter(table.RELOADS, "applied")
        self._refused = meters.counter(table.RELOADS, "refused")
        self._last = meters.counter(table.LAST_RELOAD)
        # The start has applied a configuration.
        self._last.value = 1

    def record_reload(self, *, applied: bool) -> None:
        (self._applied if applied else self._refused).add()
        self._last.value = int(applied)
