"""What a store, the audit trail and reloading tell: each part is given one of these.

Made without ``Meters`` they count for nobody, and cost next to nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple, Protocol

from doorkeeper.metrics import table
from doorkeeper.metrics.series import Meters

if TYPE_CHECKING:
    from collections.abc import Callable


class StoreSight(NamedTuple):
    """How a node sees its store at a moment.

    ``revision`` is what it decides from, ``head_revision`` the newest that it knows of, and
    ``age_s`` how long ago it last knew that there was nothing newer; 0 where no other node writes.
    """

    reachable: bool
    revision: int
    head_revision: int
    age_s: float = 0.0


class SightedStore(Protocol):
    """A store, as far as readiness and the metrics of a node look at it."""

    def sight(self) -> StoreSight:
        """Return how the store is seen now; never blocks. On the loop's thread."""
        ...


class StoreMeter:
    """The transactions of a store. For the thread that writes, whichever it is."""

    __slots__ = ("_changes", "_failed", "_reconnects", "_seconds", "_stored")

    def __init__(self, meters: Meters | None = None) -> None:
        """Begin with nothing written."""
        meters = Meters() if meters is None else meters
        self._stored = meters.counter(table.STORE_COMMITS, "stored")
        self._failed = meters.counter(table.STORE_COMMITS, "failed")
        self._changes = meters.counter(table.STORE_CHANGES)
        self._seconds = meters.histogram(table.COMMIT_SECONDS)
        self._reconnects = meters.counter(table.STORE_RECONNECTS)

    def stored(self, changes: int, took_s: float) -> None:
        """Count a transaction that is durable, with so many changes."""
        # Written out: this is on the path of every change.
        self._stored.value += 1
        self._changes.value += changes
        seconds = self._seconds
        seconds.counts[bisect_left(seconds.bounds, took_s)] += 1
        seconds.sum += took_s

    def failed(self) -> None:
        """Count a transaction that stored nothing."""
        self._failed.add()

    def reconnected(self) -> None:
        """Count a connection to the database that was made again."""
        self._reconnects.add()


class TrailMeter:
    """The audit trail. ``written``, ``lost`` and ``synced`` are for the thread that writes it."""

    __slots__ = ("_dropped", "_lost", "_meters", "_seconds", "_written")

    def __init__(self, meters: Meters | None = None) -> None:
        """Begin with nothing written."""
        self._meters = Meters() if meters is None else meters
        self._written = self._meters.counter(table.TRAIL_WRITTEN)
        self._dropped = self._meters.counter(table.TRAIL_DROPPED, "queue full")
        self._lost = self._meters.counter(table.TRAIL_DROPPED, "not written")
        self._seconds = self._meters.histogram(table.TRAIL_SYNC_SECONDS)

    def queue(self, length: Callable[[], int]) -> None:
        """Say who knows how many events wait; asked on the loop's thread at each scrape."""
        self._meters.read(table.TRAIL_QUEUED, length)

    def dropped(self, events: int = 1) -> None:
        """Count events for which the queue had no room. For the loop's thread."""
        self._dropped.add(events)

    def written(self, events: int) -> None:
        """Count events that are in the file."""
        self._written.add(events)

    def lost(self, events: int) -> None:
        """Count events that could not be written."""
        self._lost.add(events)

    def synced(self, took_s: float) -> None:
        """Note how long a sync took."""
        self._seconds.observe(took_s)


class ReloadMeter:
    """The reloads of the configuration. For the loop's thread."""

    __slots__ = ("_applied", "_last", "_refused")

    def __init__(self, meters: Meters | None = None) -> None:
        """Begin with none."""
        meters = Meters() if meters is None else meters
        self._applied = meters.counter(table.RELOADS, "applied")
        self._refused = meters.counter(table.RELOADS, "refused")
        self._last = meters.counter(table.LAST_RELOAD)
        self._last.value = 1

    def reloaded(self, *, applied: bool) -> None:
        """Count one."""
        (self._applied if applied else self._refused).add()
        self._last.value = int(applied)
