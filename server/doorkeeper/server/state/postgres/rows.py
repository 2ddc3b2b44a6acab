"""Write revisions to the log, read log and items, and prune; over one connection.

A transaction that writes:

 take_lease    locks the head: no other node writes until the transaction ends
 write         inserts the revisions after the head
 COMMIT        notifies the sessions that LISTEN
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

import asyncpg

from doorkeeper.base.garbage_collection import collection_paused
from doorkeeper.server.schema.acls import bindings_from
from doorkeeper.server.schema.declared import ACL, KINDS
from doorkeeper.server.schema.kind import Item, Kind
from doorkeeper.server.state.postgres import digest
from doorkeeper.server.state.postgres.schema import SCHEMA
from doorkeeper.server.state.storage.cells import decode, encode
from doorkeeper.server.state.storage.portable import COLUMNS, LOG
from doorkeeper.server.state.store import LogEntry, Logged, StorageError, StoredState, change_from

_COLUMNS: Final = (*(name for name in COLUMNS[LOG] if name not in ("time_ms", "hash")), "secret")
"""The columns of ``log`` that a writer sets; the database sets the others."""

_TYPES: Final = {
    "revision": "bigint",
    "item": "integer",
    "deleted": "boolean",
    "author_correlation_id": "integer",
    "node_id": "integer",
    "batch": "uuid",
}
"""The types of the columns that are no texts."""

# One statement in both cases: the trigger must see a whole batch. Beyond this number of rows COPY
# is faster: 1,000 rows take 13 to 22 ms, and 32 to 38 ms with unnest.
_UNNESTED_MAX: Final = 200

# The event loop runs between two pages: a node that reloads everything keeps answering.
_ROWS_AT_ONCE: Final = 5_000

_PARAMETERS: Final = ", ".join(
    f"${at}::{_TYPES.get(name, 'text')}[]" for at, name in enumerate(_COLUMNS, 1)
)
_INSERT: Final = (
    f"INSERT INTO doorkeeper.log ({', '.join(_COLUMNS)}) SELECT * FROM unnest({_PARAMETERS})"
)

_SECRET_KINDS: Final = [kind.name for kind in KINDS.values() if kind.has_secrets]

# All columns are named: a prepared statement must work after a migration that adds one.
# The subselect finds the item by its index, and only for kinds with secrets.
_READ: Final = """
SELECT revision, kind, key, value, deleted, batch,
       CASE WHEN kind = ANY($3) AND NOT deleted THEN (
           SELECT ARRAY[item.value, item.secret] FROM doorkeeper.item
           WHERE item.kind || ' ' || item.key = log.kind || ' ' || log.key
       ) END AS current
FROM doorkeeper.log
WHERE revision > $1 AND revision <= (
    SELECT max(revision) FROM (
        SELECT revision FROM doorkeeper.log WHERE revision > $1
        ORDER BY revision, item LIMIT $2
    ) AS page
)
ORDER BY revision, item
"""

_ITEMS: Final = "SELECT kind, key, value, secret FROM doorkeeper.item WHERE kind = ANY($1)"

_PRUNE: Final = """
WITH oldest AS (
    SELECT revision, time_ms FROM doorkeeper.log ORDER BY revision, item LIMIT $2
)
DELETE FROM doorkeeper.log
WHERE revision <= (SELECT max(revision) FROM oldest)
  AND revision < (SELECT revision FROM doorkeeper.head)
  AND revision < coalesce(
      (SELECT min(revision) FROM oldest
       WHERE time_ms >= least(extract(epoch FROM now()) * 1000, $3::bigint) - $1::bigint),
      9223372036854775807
  )
"""


async def head(connection: asyncpg.Connection, lock: str = "") -> int:
    revision: int | None = await connection.fetchval(f"SELECT revision FROM doorkeeper.head {lock}")
    if revision is None:
        raise StorageError("the store is damaged: the table head is empty")
    return revision


async def take_lease(connection: asyncpg.Connection) -> int:
    """Lock the head until the transaction ends, and return the newest revision."""
    return await head(connection, "FOR UPDATE")


async def batch_of(connection: asyncpg.Connection, revision: int) -> tuple[UUID | None] | None:
    """Return a tuple with the id of the commit that wrote a revision; (None,) if it was copied.

    None: the log does not have the revision.
    """
    row = await connection.fetchrow(
        "SELECT batch FROM doorkeeper.log WHERE revision = $1 ORDER BY item LIMIT 1", revision
    )
    return None if row is None else (row[0],)


async def write(
    connection: asyncpg.Connection, entries: Sequence[LogEntry], *, node_id: int, batch: UUID
) -> None:
    """Write revisions in one statement; they follow the head without a gap."""
    rows = [row for entry in entries for row in _rows_of(entry, node_id, batch)]
    if len(rows) <= _UNNESTED_MAX:
        await connection.execute(_INSERT, *map(list, zip(*rows, strict=True)))
    else:
        await connection.copy_records_to_table(
            "log", records=rows, columns=_COLUMNS, schema_name=SCHEMA
        )


def _rows_of(entry: LogEntry, node_id: int, batch: UUID) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a revision, deletions before set rows."""
    revision, author, change = entry
    *texts, correlation_id = author
    rest = (*map(encode, texts), correlation_id, node_id, batch)
    number = 0
    for deleted in (True, False):
        for kind, edit in change.items():
            name, encode_row = kind.name, kind.encode
            for row in edit.deleted if deleted else edit.set:
                key, value, secret = encode_row(row)
                hidden = None if deleted else secret
                yield (revision, number, name, encode(key), value, deleted, *rest, hidden)
                number += 1


async def read_log(connection: asyncpg.Connection, after: int, rows_max: int) -> list[Logged]:
    """Return about ``rows_max`` rows of the revisions after ``after``, in order.

    The last revision is complete. If the log was pruned, the first is not ``after`` + 1.

    The log has no secrets: a row with secrets is returned with its current value, or as deleted if
    a later revision deletes it. Rows of unknown kinds are skipped; their revisions are not.
    """
    rows = await connection.fetch(_READ, after, rows_max, _SECRET_KINDS)
    try:
        return [
            Logged(revision, batch, change_from(_decode_known(group)))
            for (revision, batch), group in groupby(rows, itemgetter("revision", "batch"))
        ]
    except ValueError as error:
        raise StorageError(
            f"the log contains data that this version cannot read: {error}"
        ) from error


def _decode_known(rows: Iterable[asyncpg.Record]) -> Iterator[tuple[Kind, bool, Any]]:
    for row in rows:
        kind, value, deleted = KINDS.get(row["kind"]), row["value"], row["deleted"]
        if kind is None or value is None:
            continue
        secret = None
        if kind.has_secrets and not deleted:
            current = row["current"]
            deleted = current is None
            if current is not None:
                value, secret = current
        yield kind, deleted, kind.decode(Item(decode(row["key"]), value, secret))


async def read_items(connection: asyncpg.Connection) -> StoredState:
    """Read everything, over a connection in a repeatable-read transaction.

    Equal principals and hosts of ACLs share one object. Rows of unknown kinds are skipped.
    """
    await digest.check(connection)
    revision = await head(connection)
    writer = await batch_of(connection, revision)
    rows: dict[str, list[Any]] = {name: [] for name in KINDS}
    seen: dict[str, str] = {}
    cursor = await connection.cursor(_ITEMS, list(KINDS))
    try:
        with collection_paused():  # traversing new rows adds 0.6 s at 100,000
            while page := await cursor.fetch(_ROWS_AT_ONCE):
                acls = [(key, value) for kind, key, value, _ in page if kind == ACL.name]
                rows[ACL.name] += bindings_from(acls, seen)
                for kind, key, value, secret in page:
                    if kind != ACL.name:
                        rows[kind].append(_decode_row(KINDS[kind], key, value, secret))
    except (KeyError, ValueError) as error:
        raise StorageError(
            f"the store contains data that this version cannot read: {error}"
        ) from error
    return StoredState(revision, None if writer is None else writer[0], rows)


def _decode_row(kind: Kind, key: str, value: str, secret: str | None) -> object:
    if kind.has_secrets and secret is None:
        raise ValueError(f"the {kind.name} {decode(key)!r} has no secret")
    return kind.decode(Item(decode(key), value, secret))


async def prune(
    connection: asyncpg.Connection, *, older_than_ms: int, rows_max: int, now_ms: int
) -> bool:
    """Delete the oldest revisions, about ``rows_max`` rows; return whether any were deleted.

    Stop at the first revision that is not older, by the clocks of the database and of the node: one
    that is far ahead by mistake must not delete the history. The newest revision is kept.
    """
    status: str = await connection.execute(_PRUNE, older_than_ms, rows_max, now_ms)
    return status != "DELETE 0"
