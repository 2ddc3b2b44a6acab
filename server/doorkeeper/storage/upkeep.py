"""What the writer does for the database between commits: checkpoints, and pruning of the log.

A checkpoint copies the WAL's pages into the database file, so that the WAL starts over. It runs
when a commit's results are on their way, so no acknowledgement of that commit waits for it; at
``CHECKPOINT_PAGES`` it takes a few milliseconds. While somebody reads (an online backup) it does
what it can, and the WAL grows until that reader is done.

The change log is pruned from its old end, whole revisions, only while nothing waits to be
written. The newest revision stays for ever: its number is where the store goes on counting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import structlog

from doorkeeper.storage.database import reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.typing import FilteringBoundLogger


CHECKPOINT_PAGES = 1_000
"""Four megabytes: SQLite's own default, and a start after kill -9 reads no more than that."""

PRUNE_ROWS = 1_000
"""Rows in one batch: about 2 ms, the longest that a change waits for pruning."""

PRUNE_INTERVAL_MS = 3_600_000

_DAY_MS = 86_400_000

_PRUNE = """
WITH oldest AS (
    SELECT revision, time_ms FROM change_log ORDER BY revision, item LIMIT :rows
)
DELETE FROM change_log
WHERE revision <= (SELECT max(revision) FROM oldest)
  AND revision < (SELECT max(revision) FROM change_log)
  AND revision < coalesce(
      (SELECT min(revision) FROM oldest WHERE time_ms >= :before_ms), 9223372036854775807
  )
"""


def prune(connection: apsw.Connection, *, before_ms: int, rows: int = PRUNE_ROWS) -> bool:
    """Delete the oldest revisions, about ``rows`` rows; say whether any went.

    Stops at the first revision that is not older than ``before_ms``, also when the clock was set
    back after it, so that what is left of the log has no gap.
    """
    before = connection.total_changes()
    connection.execute(_PRUNE, {"rows": rows, "before_ms": before_ms})
    return connection.total_changes() > before


class Upkeep:
    """Decides what is due. Used by one thread at a time."""

    def __init__(
        self, connection: apsw.Connection, *, now_ms: Callable[[], int], retention_days: int
    ) -> None:
        self.connection = connection
        self._now_ms = now_ms
        self._retention_days = retention_days
        self.pages = 0
        """How many pages had been written when the WAL was checkpointed last."""
        self._pruned_ms: int | None = None
        self._log: FilteringBoundLogger = structlog.get_logger(__name__)

    def due(self, *, is_idle: bool) -> Callable[[], bool] | None:
        """Return the work that is due: it says whether there may be more to do at once.

        Pruning is due only while nothing waits to be written.
        """
        written = self.connection.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)[0]
        if abs(written - self.pages) >= CHECKPOINT_PAGES:
            self.pages = written
            return self._checkpoint
        if self._retention_days < 0 or not is_idle:
            return None
        now_ms = self._now_ms()
        if self._pruned_ms is not None and abs(now_ms - self._pruned_ms) < PRUNE_INTERVAL_MS:
            return None
        return self._prune

    def _checkpoint(self) -> bool:
        """Checkpoint, as far as readers allow it.

        One that fails (a full disk) loses nothing, since the WAL keeps all; the next one is tried
        after as many pages again.
        """
        try:
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error as error:
            self._warn("store_checkpoint_failed", error)
        return False

    def _prune(self) -> bool:
        now_ms = self._now_ms()
        try:
            if prune(self.connection, before_ms=now_ms - self._retention_days * _DAY_MS):
                return True
        except apsw.Error as error:
            self._warn("store_prune_failed", error)
        self._pruned_ms = now_ms
        return False

    def _warn(self, event: str, error: apsw.Error) -> None:
        self._log.warning(event, file=self.connection.filename, error=reason(error))
