"""Maintenance of the database between commits: checkpoints, and pruning of the log.

A checkpoint copies the pages of the WAL into the database file, so that the WAL starts over. It
runs after the results of a commit were sent, so that they do not wait for it; at
``CHECKPOINT_PAGES`` it takes a few milliseconds. During a read (an online backup) a checkpoint is
partial, and the WAL grows until the read ends.

The change log is pruned from its old end, in whole revisions, while no change waits. The newest
revision is kept: the next one is numbered after it.

The base of the history are the rows before the oldest revision of the log. A store begins with its
initial rows as base, at revision 0. Pruning folds the revisions that it deletes into the base, in
the same transaction, so base and log together are the state as of each revision that is kept.
Secrets are not in the base, as they are not in the log.

base_revision   the base is the state after this revision
base_hash       its hash, to which the next one is chained; empty at revision 0
base_ms         the time from which that was the state
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import apsw

from doorkeeper.server.runtime.lean_structlog import structlog
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.state.storage import schema
from doorkeeper.server.state.storage.database import reason

# Four megabytes, SQLite's own default: a start after kill -9 reads no more than that.
CHECKPOINT_PAGES = 1_000

# About 2 ms of work, the longest time that a change waits for pruning.
PRUNE_ROWS = 1_000

PRUNE_INTERVAL_MS = 3_600_000

# A clock that was set far ahead by mistake, for a while, would delete the whole history. After a
# suspension the hour is waited for again.
_JUMP_MS = 2 * PRUNE_INTERVAL_MS

_DAY_MS = 86_400_000

_PRUNED = """
WITH oldest AS (
    SELECT revision, time_ms FROM change_log ORDER BY revision, item LIMIT :rows
)
SELECT max(revision) FROM oldest
WHERE revision < (SELECT max(revision) FROM change_log)
  AND revision < coalesce(
      (SELECT min(revision) FROM oldest WHERE time_ms >= :before_ms), 9223372036854775807
  )
"""


_LATEST: Final = """
    SELECT kind, key, value, revision, deleted, max((revision << 24) + item) FROM change_log
    WHERE revision > :after AND revision <= :until GROUP BY kind, key
"""
"""The last row of each key; SQLite takes the other columns from the row of the maximum."""

_SET: Final = f"""
INSERT OR REPLACE INTO base SELECT kind, key, value, revision FROM ({_LATEST}) WHERE deleted = 0
"""
_DELETE: Final = f"""
DELETE FROM base WHERE (kind, key) IN (SELECT kind, key FROM ({_LATEST}) WHERE deleted = 1)
"""


def prune(connection: apsw.Connection, *, before_ms: int, rows: int = PRUNE_ROWS) -> bool:
    """Delete the oldest revisions, about ``rows`` rows; return whether any was deleted.

    Stop at the first revision that is not older than ``before_ms``, even if the clock was set back
    after it, so that the rest of the log has no gap. The base is the state before it.
    """
    until = connection.execute(_PRUNED, {"rows": rows, "before_ms": before_ms}).get
    if not isinstance(until, int):
        return False
    with connection:
        _fold(connection, until)
        connection.execute("DELETE FROM change_log WHERE revision <= ?", (until,))
    return True


def _fold(connection: apsw.Connection, until: int) -> None:
    """Move the base forward to a revision of the log, in the caller's transaction."""
    after = schema.base(connection).revision
    if until <= after:
        return
    for statement in (_SET, _DELETE):
        connection.execute(statement, {"after": after, "until": until})
    row = connection.execute(
        "SELECT coalesce(hash, ''), time_ms FROM change_log WHERE revision = ? AND item = 0",
        (until,),
    ).fetchone()
    assert row is not None, "the log has the revision"
    schema.set_base(connection, until, *row)


class Upkeep:
    """Schedules the maintenance. For one thread at a time."""

    def __init__(
        self, connection: apsw.Connection, *, now_ms: Callable[[], int], retention_days: int
    ) -> None:
        self.connection = connection
        self._now_ms = now_ms
        self._retention_days = retention_days
        self.pages = 0
        """Number of written pages at the last checkpoint."""
        self._pruned_ms: int | None = None
        self._log: Logger = structlog.get_logger(__name__)

    def due(self, *, is_idle: bool) -> Callable[[], bool] | None:
        """Return the work that is due; it returns whether more may be due at once.

        Pruning is due only while no change waits.
        """
        # Pages are counted, because a WAL hook in Python would take the global lock in each commit.
        written = self.connection.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)[0]
        if abs(written - self.pages) >= CHECKPOINT_PAGES:
            self.pages = written
            return self._checkpoint
        if self._retention_days < 0 or not is_idle:
            return None
        now_ms = self._now_ms()
        if self._pruned_ms is not None:
            passed_ms = abs(now_ms - self._pruned_ms)
            if passed_ms < PRUNE_INTERVAL_MS:
                return None
            if passed_ms > _JUMP_MS:
                self._pruned_ms = now_ms
                return None
        return self._prune

    def _checkpoint(self) -> bool:
        """Checkpoint as many pages as readers allow."""
        try:
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        # A failure, such as a full disk, loses nothing: the WAL has all pages, and the next attempt
        # comes after as many pages again.
        except apsw.Error as error:
            self._warn("checkpoint failed", error)
        return False

    def _prune(self) -> bool:
        now_ms = self._now_ms()
        try:
            if prune(self.connection, before_ms=now_ms - self._retention_days * _DAY_MS):
                return True
        except apsw.Error as error:
            self._warn("the log was not pruned", error)
        self._pruned_ms = now_ms
        return False

    def _warn(self, event: str, error: apsw.Error) -> None:
        self._log.warning(event, file=self.connection.filename, error=reason(error))
