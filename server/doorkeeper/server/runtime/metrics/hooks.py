"""Meters of the store, the audit log and reloads, given to these parts.

Without ``Meters`` their numbers are not published; counting costs next to nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
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
        meters = Meters() if meters is None else meters
        self._stored = meters.counter(table.STORE_COMMITS, "stored")
        self._failed = meters.counter(table.STORE_COMMITS, "failed")
        self._changes = meters.counter(table.STORE_CHANGES)
        self._seconds = meters.histogram(table.COMMIT_SECONDS)
        self._reconnects = meters.counter(table.STORE_RECONNECTS)

    def record_commit(self, changes: int, took_s: float) -> None:
        """Count a durable transaction with this number of changes."""
        # Written out: this is on the path of every change.
        self._stored.value += 1
        self._changes.value += changes
        seconds = self._seconds
        seconds.counts[bisect_left(seconds.bounds, took_s)] += 1
        seconds.sum += took_s

    def record_failure(self) -> None:
        """Count a transaction that stored nothing."""
        self._failed.add()

    def record_reconnect(self) -> None:
        self._reconnects.add()


class AuditMeter:
    """Counts audit events. ``record_dropped`` is for the loop's thread, others for the writer's."""

    __slots__ = ("_dropped", "_lost", "_meters", "_seconds", "_written")

    def __init__(self, meters: Meters | None = None) -> None:
        self._meters = Meters() if meters is None else meters
        self._written = self._meters.counter(table.AUDIT_WRITTEN)
        # One series for each thread: the loop's counts drops, the writer's counts lost events.
        self._dropped = self._meters.counter(table.AUDIT_DROPPED, "queue full")
        self._lost = self._meters.counter(table.AUDIT_DROPPED, "not written")
        self._seconds = self._meters.histogram(table.AUDIT_SYNC_SECONDS)

    def queue(self, length: Callable[[], int]) -> None:
        """Register a reader of the queue's length, called in the loop's thread at each scrape."""
        self._meters.read(table.AUDIT_QUEUED, length)

    def record_dropped(self, events: int = 1) -> None:
        """Count events that did not fit into the queue."""
        self._dropped.add(events)

    def record_written(self, events: int) -> None:
        # Written out: this is on the path of every change.
        self._written.value += events

    def record_lost(self, events: int) -> None:
        """Count events that could not be written."""
        self._lost.add(events)

    def record_sync(self, took_s: float) -> None:
        seconds = self._seconds
        seconds.counts[bisect_left(seconds.bounds, took_s)] += 1
        seconds.sum += took_s


class ReloadMeter:
    """Counts reloads of the configuration. Not thread-safe."""

    __slots__ = ("_applied", "_last", "_refused")

    def __init__(self, meters: Meters | None = None) -> None:
        meters = Meters() if meters is None else meters
        self._applied = meters.counter(table.RELOADS, "applied")
        self._refused = meters.counter(table.RELOADS, "refused")
        self._last = meters.counter(table.LAST_RELOAD)
        # The start has applied a configuration.
        self._last.value = 1

    def record_reload(self, *, applied: bool) -> None:
        (self._applied if applied else self._refused).add()
        self._last.value = int(applied)
