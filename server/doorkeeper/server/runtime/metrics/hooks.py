"""Meters of the store, the audit log and reloads, given to these parts.

Without ``Meters`` their numbers are not published; counting costs next to nothing.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, Protocol

from doorkeeper.server.runtime.metrics import table
from doorkeeper.server.runtime.metrics.series import Meters


class StoreStatus(NamedTuple):
    """A node's view of its store at one time.

    ``revision`` is the one that it decides from, ``head_revision`` the newest one known, and
    ``age_s`` the time since the node last knew that there was nothing newer; 0 where no other node
    writes.
    """

    reachable: bool
    revision: int
    head_revision: int
    age_s: float = 0.0


class SightedStore(Protocol):
    """The part of a store that readiness and metrics read."""

    def status(self) -> StoreStatus:
        """Return the current view; never blocks. Called in the loop's thread."""
        ...


class StoreMeter:
    """Counts the transactions of a store. For the one thread that writes."""

    __slots__ = ("_changes", "_failed", "_reconnects", "_seconds", "_stored")

    def __init__(self, meters: Meters | None = None) -> None:
        meters = meters or Meters()
        self._stored = meters.counter(table.STORE_COMMITS, "stored")
        self._failed = meters.counter(table.STORE_COMMITS, "failed")
        self._changes = meters.counter(table.STORE_CHANGES)
        self._seconds = meters.histogram(table.COMMIT_SECONDS)
        self._reconnects = meters.counter(table.STORE_RECONNECTS)

    def record_commit(self, changes: int, took_s: float) -> None:
        """Count a durable transaction with this number of changes."""
        self._stored.add()
        self._changes.add(changes)
        self._seconds.observe(took_s)

    def record_failure(self) -> None:
        """Count a transaction that stored nothing."""
        self._failed.add()

    def record_reconnect(self) -> None:
        self._reconnects.add()


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
