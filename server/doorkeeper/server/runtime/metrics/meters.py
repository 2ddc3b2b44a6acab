"""The series of the parts of a server: requests, the store, the audit log, reloads.

Without ``Meters`` the numbers of the last three are not published; counting costs next to nothing.

Requests, and the updates among them, are measured as KIP-504 wants it:

    |<------------------------ total ------------------------>|
    |<-- local -->|<-------- remote -------->|
  its turn      the wait                 the last item        the answer
                begins                   is complete

A request that waits for nothing is all local. Pipelined requests that are handled in one turn leave
together, and have one time. All times are seconds of one steady clock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter as Counted
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from msgspec import Struct

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.runtime.metrics import table
from doorkeeper.server.runtime.metrics.series import Counter, Histogram, Meters
from doorkeeper.server.runtime.metrics.table import FAST_S
from doorkeeper_wire.api_keys import API_NAMES

NO_ERROR: Final = "none"
_ERRORS: Final = {int(code): code.name for code in ErrorCode} | {0: NO_ERROR}


class Waited(NamedTuple):
    """The time of a request before its first wait, and of the wait."""

    local_s: float
    remote_s: float


def api_name(api_key: int) -> str:
    return API_NAMES.get(api_key, "other")


def error_name(code: int) -> str:
    """Return Kafka's name of an error, "none" for 0; unknown codes share one series."""
    return _ERRORS.get(code, "other")


class RequestMeter:
    """Counts requests and updates. Not thread-safe."""

    def __init__(self, meters: Meters) -> None:
        """Series are created at the first request, those of waits at the first wait."""
        self._meters = meters
        self._answered: dict[tuple[int, int], tuple[Counter, Histogram]] = {}
        self._waits: dict[int, tuple[Histogram, Histogram]] = {}
        self._refused = meters.counter(table.UPDATES_REFUSED)

    def record_answers(
        self, answered: Sequence[tuple[int, int]], total_s: float, waited: Waited | None = None
    ) -> None:
        """Count answers by API key and error code, with their total time.

        ``waited`` is None for requests that did not wait: all of their time is local, and is in no
        histogram but the total. That one is updated inline and not by ``observe``: this is the path
        of every request.
        """
        first, count = answered[0], len(answered)
        # Pipelined requests are mostly of one kind: ``count`` is cheaper than a Counter.
        if count > 1 and answered.count(first) != count:
            for answer, times in Counted(answered).items():
                self._count(answer, times, total_s, waited)
        else:
            self._count(first, count, total_s, waited)

    def _count(
        self, answered: tuple[int, int], times: int, total_s: float, waited: Waited | None
    ) -> None:
        try:
            counter, total = self._answered[answered]
        # Cheaper than ``get``: the series exist for all but the first request of a kind.
        except KeyError:
            counter, total = self._bound(*answered)
        counter.value += times
        total.counts[bisect_left(FAST_S, total_s)] += times
        total.sum += total_s * times
        if waited is not None:
            self.record_wait(answered[0], waited, times)

    def record_overload(self) -> None:
        """Count a refused update of ACLs: too many were waiting."""
        self._refused.add()

    def record_timeout(self, operation: str, items: int) -> None:
        """Count items that did not complete in time."""
        self._meters.counter(table.ITEMS_TIMED_OUT, operation).add(items)

    def _bound(self, api_key: int, error_code: int) -> tuple[Counter, Histogram]:
        api = api_name(api_key)
        bound = (
            self._meters.counter(table.REQUESTS, api, error_name(error_code)),
            self._meters.histogram(table.REQUEST_SECONDS, api),
        )
        self._answered[api_key, error_code] = bound
        return bound

    def record_wait(self, api_key: int, waited: Waited, times: int = 1) -> None:
        """Record the times of a request that waited, also of one whose client has left."""
        waits = self._waits.get(api_key)
        if waits is None:
            api = api_name(api_key)
            waits = self._waits[api_key] = (
                self._meters.histogram(table.LOCAL_SECONDS, api),
                self._meters.histogram(table.REMOTE_SECONDS, api),
            )
        for histogram, time_s in zip(waits, waited, strict=True):
            histogram.observe(time_s, times)


# --- the store, the audit log, reloads


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
