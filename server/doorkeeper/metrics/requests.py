"""The requests, and the updates among them that wait, as KIP-504 wants them told.

    |<------------------------ total ------------------------>|
    |<-- local -->|<-------- remote -------->|
  its turn      the wait                 the last item        the answer
                begins                   is complete

A request that waits for nothing is all local. All times are seconds of one steady clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.errors import ErrorCode
from doorkeeper.metrics import table
from doorkeeper_wire.api_keys import API_NAMES

if TYPE_CHECKING:
    from doorkeeper.metrics.series import Counter, Histogram, Meters

NO_ERROR: Final = "none"
_ERRORS: Final = {int(code): code.name for code in ErrorCode} | {0: NO_ERROR}


def api_name(api_key: int) -> str:
    """Return Kafka's name of an API."""
    return API_NAMES.get(api_key, "other")


def error_name(code: int) -> str:
    """Return Kafka's name of an error, "none" without one; codes of others are one series."""
    return _ERRORS.get(code, "other")


class RequestMeter:
    """What the server's edge tells. For the loop's thread."""

    def __init__(self, meters: Meters) -> None:
        """Begin; series are made when their API is asked for the first time."""
        self._meters = meters
        self._answered: dict[tuple[int, int], tuple[Counter, Histogram]] = {}
        self._times: dict[int, tuple[Histogram, Histogram]] = {}
        self._refused = meters.counter(table.UPDATES_REFUSED)

    def answered(self, answered: tuple[int, int], took_s: float) -> None:
        """Count an answer: the key of its API and its error code, and the total time."""
        try:
            counter, histogram = self._answered[answered]
        except KeyError:
            counter, histogram = self._bound(*answered)
        counter.value += 1
        histogram.observe(took_s)

    def changed(self, api_key: int, local_s: float, remote_s: float) -> None:
        """Note the two times of a request that changes something, when its wait is over."""
        if api_key not in self._times:
            api = api_name(api_key)
            self._times[api_key] = (
                self._meters.histogram(table.LOCAL_SECONDS, api),
                self._meters.histogram(table.REMOTE_SECONDS, api),
            )
        local, remote = self._times[api_key]
        local.observe(local_s)
        remote.observe(remote_s)

    def refused(self) -> None:
        """Count an update of ACLs for which there was no room."""
        self._refused.add()

    def timed_out(self, operation: str, items: int) -> None:
        """Count items that were not complete in time."""
        self._meters.counter(table.ITEMS_TIMED_OUT, operation).add(items)

    def _bound(self, api_key: int, error_code: int) -> tuple[Counter, Histogram]:
        api = api_name(api_key)
        bound = (
            self._meters.counter(table.REQUESTS, api, error_name(error_code)),
            self._meters.histogram(table.REQUEST_SECONDS, api),
        )
        self._answered[api_key, error_code] = bound
        return bound
