"""The base of the history: the rows before the oldest revision of the log.

A store begins with its initial rows as base, at revision 0. Pruning folds the revisions that it
deletes into the base, in the same transaction, so base and log together are the state as of each
revision that is kept. Secrets are not in the base, as they are not in the log.

 base_revision   the base is the state after this revision
 base_hash       its hash, to which the next one is chained; empty at revision 0
 base_ms         the time from which that was the state
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.server.state.storage import schema

if TYPE_CHECKING:
    import apsw

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


def fold(connection: apsw.Connection, until: int) -> None:
    """Move the base forward to a revision of the log, in the caller's transaction."""
    after = schema.base(connection).revision
    if until <= after:
        return
    for statement in (_SET, _DELETE):
        connection.execute(statement, {"after": after, "until": until})
    found = connection.execute(
        "SELECT coalesce(hash, ''), time_ms FROM change_log WHERE revision = ? AND item = 0",
        (until,),
    ).fetchone()
    assert found is not None, "the log has the revision"
    schema.set_base(connection, until, *found)
