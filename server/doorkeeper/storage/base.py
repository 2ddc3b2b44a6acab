"""The base of the history: the rows before the oldest revision whose state is exact.

A store begins with its initial rows as base, at revision 0. Pruning folds the revisions that it
deletes into the base, in the same transaction, so base and log together are the state as of each
revision that is kept. Secrets are not in the base, as they are not in the log.

 base_revision   the base is the state after this revision
 base_hash       its hash, to which the next one is chained; empty where it has none
 base_ms         the time from which that was the state
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.kinds.declared import FEATURE
from doorkeeper.storage import schema

if TYPE_CHECKING:
    import apsw

_ADD_COLUMNS: Final = """
ALTER TABLE change_log ADD COLUMN author_software TEXT NOT NULL DEFAULT '';
ALTER TABLE change_log ADD COLUMN author_correlation_id INTEGER;
ALTER TABLE change_log ADD COLUMN hash TEXT;
"""

# Initial rows that were replaced are unknown: the versions that wrote them kept no base. They were
# features. A deletion without its value comes from a schema version before 4.
_IS_EXACT: Final = """
SELECT coalesce((SELECT min(revision) FROM change_log), 1) = 1
   AND NOT EXISTS (SELECT 1 FROM change_log WHERE value IS NULL OR kind = ?)
"""

_LATEST: Final = """
    SELECT kind, key, value, revision, deleted, max((revision << 24) + item) FROM change_log
    WHERE revision > :after AND revision <= :until GROUP BY kind, key
"""
"""The last row of each key; SQLite takes the other columns from the row of the maximum."""

_SET: Final = f"""
INSERT OR REPLACE INTO base SELECT kind, key, value, revision FROM ({_LATEST}) WHERE deleted = 0
"""  # noqa: S608 - ours
_DELETE: Final = f"""
DELETE FROM base WHERE (kind, key) IN (SELECT kind, key FROM ({_LATEST}) WHERE deleted = 1)
"""  # noqa: S608 - ours


def add_to_older_store(connection: apsw.Connection, version: int, now_ms: int) -> None:
    """Add the columns and the table of schema version 5, in the caller's transaction.

    The state is exact from the beginning if the log has everything, else from now on.
    """
    if version == schema.ONE_LAYOUT:
        connection.execute(_ADD_COLUMNS)
    connection.execute(schema.BASE)
    copy = "INSERT INTO base SELECT kind, key, value, revision FROM item"
    if connection.execute(_IS_EXACT, (FEATURE.name,)).get:
        connection.execute(f"{copy} WHERE revision = 0")
        schema.set_base(connection, 0, "", int(schema.meta(connection, "created_ms")))
        return
    connection.execute(copy)
    schema.set_base(connection, schema.last_revision(connection), "", now_ms)


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
