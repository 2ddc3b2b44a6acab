"""Writing changes to the log, reading them from it, and pruning it; over one connection.

A writer's transaction:

    take_pen      locks the head: until the transaction ends nobody else writes
    write         changes, each with its revision: the one after the head, and so on
    COMMIT        the bell rings at those who LISTEN

Rows of a large change are copied in; up to ``_UNNESTED_MAX`` rows one prepared statement is
faster. Either way it is one statement, which the trigger needs to see a whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from doorkeeper.acl.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.authn.credentials import ScramCredential
from doorkeeper.storage.contract import (
    Author,
    Change,
    ConfigKey,
    CredentialKey,
    StorageError,
    StoredBinding,
    StoredTopic,
)
from doorkeeper.storage.postgres.cells import read, written
from doorkeeper.storage.postgres.schema import SCHEMA
from doorkeeper.storage.rows import log_rows, token_of, topic_of
from doorkeeper.storage.schema import LogKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from uuid import UUID

    import asyncpg

_Row = Mapping[str, Any]

_COLUMNS: Final = {
    "revision": "bigint",
    "item": "integer",
    "kind": "smallint",
    "author_principal": "text",
    "author_host": "text",
    "author_listener": "text",
    "author_client_id": "text",
    "binding_id": "text",
    "resource_type": "smallint",
    "name": "text",
    "pattern_type": "smallint",
    "principal": "text",
    "host": "text",
    "operation": "smallint",
    "permission_type": "smallint",
    "topic": "text",
    "config_key": "text",
    "config_value": "text",
    "mechanism": "text",
    "record": "text",
    "node_id": "integer",
    "batch": "uuid",
}
"""The columns of ``change_log`` that a writer gives: all but the time."""

_TIME: Final = 3
"""Where the embedded store's rows have the time."""

_UNNESTED_MAX: Final = 200
"""Beyond this COPY is faster: 1000 rows in 13 to 22 ms, and in 32 to 38 ms this way."""

_PARAMETERS: Final = ", ".join(f"${at}::{kind}[]" for at, kind in enumerate(_COLUMNS.values(), 1))
_INSERT: Final = (
    f"INSERT INTO doorkeeper.change_log ({', '.join(_COLUMNS)})"  # noqa: S608 - names of ours
    f" SELECT * FROM unnest({_PARAMETERS})"
)

# Columns are named everywhere: a statement that is prepared must outlive a migration that adds one.
_READ: Final = """
SELECT log.revision, item, kind, time_ms,
       author_principal, author_host, author_listener, author_client_id,
       binding_id, resource_type, name, pattern_type,
       principal, host, operation, permission_type,
       topic, config_key, config_value, log.mechanism, record, node_id, batch,
       salt, stored_key, server_key, iterations
FROM doorkeeper.change_log AS log
LEFT JOIN doorkeeper.credential
ON kind = 8
AND credential.mechanism || ' ' || user_name = log.mechanism || ' ' || log.name
WHERE log.revision > $1 AND log.revision <= (
    SELECT max(revision) FROM (
        SELECT revision FROM doorkeeper.change_log WHERE revision > $1
        ORDER BY revision, item LIMIT $2
    ) AS page
)
ORDER BY log.revision, item
"""

_PRUNE: Final = """
WITH oldest AS (
    SELECT revision, time_ms FROM doorkeeper.change_log ORDER BY revision, item LIMIT $2
)
DELETE FROM doorkeeper.change_log
WHERE revision <= (SELECT max(revision) FROM oldest)
  AND revision < (SELECT revision FROM doorkeeper.head)
  AND revision < coalesce(
      (SELECT min(revision) FROM oldest
       WHERE time_ms >= extract(epoch FROM now()) * 1000 - $1::bigint),
      9223372036854775807
  )
"""


class Logged(NamedTuple):
    """One revision as the log tells it; ``node_id`` and ``batch`` are None where it was copied."""

    revision: int
    time_ms: int
    node_id: int | None
    batch: UUID | None
    change: Change


async def head(connection: asyncpg.Connection) -> int:
    """Return the newest revision.

    Raises:
        StorageError: there is no head; a dump without its rows was put back, for example.

    """
    return _revision_in(await connection.fetchval("SELECT revision FROM doorkeeper.head"))


async def take_pen(connection: asyncpg.Connection) -> int:
    """Lock the head until the transaction ends, and return the newest revision.

    Raises:
        StorageError: there is no head.

    """
    found = await connection.fetchval("SELECT revision FROM doorkeeper.head FOR UPDATE")
    return _revision_in(found)


def _revision_in(found: int | None) -> int:
    if found is None:
        raise StorageError("the store is damaged: the table head is empty")
    return found


async def maker_of(connection: asyncpg.Connection, revision: int) -> tuple[UUID | None] | None:
    """Return which commit made a revision, by itself; (None,) where it was copied.

    None alone: the log does not have the revision.
    """
    row = await connection.fetchrow(
        "SELECT batch FROM doorkeeper.change_log WHERE revision = $1 ORDER BY item LIMIT 1",
        revision,
    )
    return None if row is None else (row[0],)


async def write(
    connection: asyncpg.Connection,
    changes: Iterable[tuple[int, Change]],
    *,
    node_id: int,
    batch: UUID,
) -> None:
    """Write changes with their revisions, which follow the head without a gap, in one statement.

    Empty changes have no revision and must not be among them.

    Raises:
        asyncpg.PostgresError: nothing is written.

    """
    rows = [
        (*map(written, row[:_TIME]), *map(written, row[_TIME + 1 :]), node_id, batch)
        for revision, change in changes
        for row in log_rows(change, revision, 0)
    ]
    if not rows:
        return
    if len(rows) <= _UNNESTED_MAX:
        await connection.execute(_INSERT, *map(list, zip(*rows, strict=True)))
    else:
        await connection.copy_records_to_table(
            "change_log", records=rows, columns=list(_COLUMNS), schema_name=SCHEMA
        )


async def revisions_of(connection: asyncpg.Connection, batch: UUID, after: int) -> list[int]:
    """Return the revisions beyond ``after`` that one commit wrote; none if it never became one."""
    rows = await connection.fetch(
        "SELECT DISTINCT revision FROM doorkeeper.change_log"
        " WHERE revision > $1 AND batch = $2 ORDER BY revision",
        after,
        batch,
    )
    return [row[0] for row in rows]


async def read_log(connection: asyncpg.Connection, after: int, rows_max: int) -> list[Logged]:
    """Return the revisions beyond ``after``, in order, about ``rows_max`` rows of them.

    The last one is whole. Where the log was pruned, the first is not the one after ``after``.

    The log has forgotten credentials. What a row says was set is told as it is now; one that is
    gone again is told as deleted, which it will be by a later row.

    Raises:
        StorageError: a row holds a code that nobody has.

    """
    rows = await connection.fetch(_READ, after, rows_max)
    try:
        return [
            _logged(revision, list(some))
            for revision, some in groupby(rows, key=lambda row: row["revision"])
        ]
    except (KeyError, ValueError) as error:
        raise StorageError(f"the change log has what this version cannot read: {error}") from error


async def prune(connection: asyncpg.Connection, *, older_than_ms: int, rows_max: int) -> bool:
    """Delete the oldest revisions, about ``rows_max`` rows; say whether any went.

    Stops at the first revision that is not older, by the database's clock. The newest one stays.
    """
    status: str = await connection.execute(_PRUNE, older_than_ms, rows_max)
    return status != "DELETE 0"


RESOURCE_TYPES: Final = {int(member): member for member in ResourceType}
PATTERN_TYPES: Final = {int(member): member for member in PatternType}
OPERATIONS: Final = {int(member): member for member in AclOperation}
PERMISSIONS: Final = {int(member): member for member in AclPermissionType}


def _logged(revision: int, rows: Sequence[_Row]) -> Logged:
    first = rows[0]
    author = Author(*(read(first[f"author_{name}"]) for name in Author._fields))
    parts: dict[str, list[Any]] = {}
    for row in rows:
        field, value_of = _VALUES[_kind_of(row)]
        parts.setdefault(field, []).append(value_of(row))
    change = Change(author=author, **{field: tuple(values) for field, values in parts.items()})
    return Logged(revision, first["time_ms"], first["node_id"], first["batch"], change)


def _kind_of(row: _Row) -> LogKind:
    kind = LogKind(row["kind"])
    if kind is LogKind.CREDENTIAL_SET and row["salt"] is None:
        return LogKind.CREDENTIAL_DELETED
    return kind


def binding_of(row: _Row) -> StoredBinding:
    """Return the binding of a row of ``acl`` or of the log.

    Raises:
        KeyError: a code is not Kafka's.

    """
    pattern = ResourcePattern(
        RESOURCE_TYPES[row["resource_type"]],
        read(row["name"]),
        PATTERN_TYPES[row["pattern_type"]],
    )
    entry = AccessControlEntry(
        read(row["principal"]),
        read(row["host"]),
        OPERATIONS[row["operation"]],
        PERMISSIONS[row["permission_type"]],
    )
    return StoredBinding(row["binding_id"], AclBinding(pattern, entry))


def credential_of(row: _Row) -> ScramCredential:
    """Return the credential of a row of ``credential``."""
    return ScramCredential(row["salt"], row["stored_key"], row["server_key"], row["iterations"])


def _name_of(row: _Row) -> str:
    return read(row["name"])


def _topic_of(row: _Row) -> StoredTopic:
    return topic_of(_name_of(row), read(row["topic"]))


def _key_of(row: _Row) -> ConfigKey:
    return ConfigKey(_name_of(row), read(row["config_key"]))


def _owner_of(row: _Row) -> CredentialKey:
    return CredentialKey(_name_of(row), read(row["mechanism"]))


_VALUES: Final[dict[LogKind, tuple[str, Callable[[_Row], object]]]] = {
    LogKind.BINDING_CREATED: ("bindings_added", binding_of),
    LogKind.BINDING_DELETED: ("bindings_removed", binding_of),
    LogKind.TOPIC_CREATED: ("topics_added", _topic_of),
    LogKind.TOPIC_DELETED: ("topics_removed", _name_of),
    LogKind.TOPIC_ALTERED: ("topics_altered", _topic_of),
    LogKind.CONFIG_SET: ("configs_set", lambda row: (_key_of(row), read(row["config_value"]))),
    LogKind.CONFIG_DELETED: ("configs_deleted", _key_of),
    LogKind.CREDENTIAL_SET: ("credentials_set", lambda row: (_owner_of(row), credential_of(row))),
    LogKind.CREDENTIAL_DELETED: ("credentials_deleted", _owner_of),
    LogKind.TOKEN_SET: ("tokens_set", lambda row: token_of(_name_of(row), read(row["record"]))),
    LogKind.TOKEN_DELETED: ("tokens_deleted", _name_of),
}
"""Where in a ``Change`` a row of each kind belongs, and what it holds there."""
