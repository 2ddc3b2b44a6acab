"""Conversion of stores of the schema versions 1 to 3, which had a table for each kind.

 bindings, topics                          since version 1
 configs                                   since version 2
 scram_credentials, delegation_tokens      since version 3

Their ``change_log`` had a column for each cell of any kind; ``_convert_log`` has its kind codes.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.acl.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.kinds.acls import StoredBinding
from doorkeeper.kinds.declared import (
    ACL,
    CONFIG,
    CREDENTIAL,
    TOKEN,
    TOPIC,
    StoredConfig,
    StoredCredential,
    StoredToken,
    StoredTopic,
)
from doorkeeper.kinds.kind import key_text
from doorkeeper.state.store import StorageError
from doorkeeper.storage import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from doorkeeper.kinds.kind import Kind

_BINDING: Final = "resource_type, name, pattern_type, principal, host, operation, permission_type"
_TABLES: Final = ("bindings", "topics", "configs", "scram_credentials", "delegation_tokens")


def convert(connection: apsw.Connection) -> None:
    """Replace the tables by those with one layout for all kinds, in the caller's transaction.

    Raises:
        StorageError: the store is damaged.

    """
    tables = {str(name) for (name,) in _names(connection, "table")}
    # Without the triggers, which would apply the converted log a second time.
    for (name,) in _names(connection, "trigger"):
        connection.execute(f'DROP TRIGGER "{name}"')
    connection.execute("ALTER TABLE change_log RENAME TO old_log")
    connection.execute(schema.TABLES)
    try:
        for kind, row, revision in _rows(connection, tables):
            cells = (kind.name, *kind.encode(row), revision)
            connection.execute("INSERT INTO item VALUES (?, ?, ?, ?, ?)", cells)
        connection.executemany(
            "INSERT INTO change_log (revision, item, kind, key, value, deleted, time_ms,"
            " author_principal, author_host, author_listener, author_client_id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            _convert_log(connection),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{connection.filename}: the store is damaged: {error!r}") from error
    for name in ("old_log", *(each for each in _TABLES if each in tables)):
        connection.execute(f"DROP TABLE {name}")
    connection.execute(schema.TRIGGERS)


def read(connection: apsw.Connection, kind: Kind) -> Iterator[Any]:
    """Read the rows of a kind from an older store without converting it."""
    tables = {str(name) for (name,) in _names(connection, "table")}
    return (row for found, row, _ in _rows(connection, tables) if found is kind)


def _names(connection: apsw.Connection, type_: str) -> list[tuple[Any, ...]]:
    return list(connection.execute("SELECT name FROM sqlite_schema WHERE type = ?", (type_,)))


def _rows(connection: apsw.Connection, tables: set[str]) -> Iterator[tuple[Kind, Any, int]]:
    """Yield every row with the revision that set it."""
    columns = {
        "bindings": f"revision, binding_id, {_BINDING}",
        "topics": "revision, name, topic",
        "configs": "revision, broker, key, value",
        "scram_credentials": "revision, user, mechanism, salt, stored_key, server_key, iterations",
        "delegation_tokens": "revision, token_id, token",
    }
    for table in _TABLES:
        if table not in tables:
            continue
        for revision, *cells in connection.execute(f"SELECT {columns[table]} FROM {table}"):  # noqa: S608 - ours
            if table == "bindings":
                yield ACL, StoredBinding(cells[0], _binding(*cells[1:])), revision
            elif table == "topics":
                yield TOPIC, _topic(*cells), revision
            elif table == "configs":
                yield CONFIG, StoredConfig(*cells), revision
            elif table == "scram_credentials":
                yield CREDENTIAL, StoredCredential(*cells), revision
            else:
                yield TOKEN, _token(*cells), revision


def _convert_log(connection: apsw.Connection) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the log: revision, item, kind, key, value, deleted, time and author.

    The old log had no value for a deletion, except for ACLs: use the value that the log set last,
    None where that is before the log. Credentials were never in the log: use the one in the store
    if it has the same revision.
    """
    credentials = {
        (key, revision): value
        for key, value, revision in connection.execute(
            "SELECT key, value, revision FROM item WHERE kind = ?", (CREDENTIAL.name,)
        )
    }
    last: dict[tuple[str, str], str | None] = {}
    cursor = connection.execute("SELECT * FROM old_log ORDER BY revision, item")
    names = [name for name, *_ in cursor.description]
    for row in cursor:
        cells = dict(zip(names, row, strict=True))
        code, name, revision = cells["kind"], cells["name"], cells["revision"]
        deleted = code in _DELETED
        value: str | None = None
        if code in (1, 2):
            kind, key = ACL, cells["binding_id"]
            binding = _binding(*(cells[each] for each in _BINDING.split(", ")))
            value = ACL.encode(StoredBinding(str(key), binding)).value
        elif code in (3, 4, 5):
            kind, key = TOPIC, name
            value = None if deleted else TOPIC.encode(_topic(name, cells["topic"])).value
        elif code in (6, 7):
            kind, key = CONFIG, key_text((name, cells["config_key"]))
            if not deleted:
                row_ = StoredConfig(name, cells["config_key"], cells["config_value"])
                value = CONFIG.encode(row_).value
        elif code in (8, 9):
            kind, key = CREDENTIAL, key_text((name, cells["mechanism"]))
            value = None if deleted else credentials.get((key, revision))
        elif code in (10, 11):
            kind, key = TOKEN, name
            value = None if deleted else TOKEN.encode(_token(name, cells["record"])).value
        else:
            raise ValueError(f"revision {revision} has the kind {code}")
        if kind is not ACL and deleted:
            value = last.pop((kind.name, key), None)
        elif kind is not ACL:
            last[kind.name, key] = value
        author = (
            cells[f"author_{each}"] for each in ("principal", "host", "listener", "client_id")
        )
        head = (revision, cells["item"], kind.name, key, value, int(deleted))
        yield (*head, cells["time_ms"], *author)


_DELETED: Final = frozenset((2, 4, 7, 9, 11))
_AUTHOR: Final = ("principal", "host", "listener", "client_id")


def _binding(
    resource_type: int,
    name: str,
    pattern_type: int,
    principal: str,
    host: str,
    operation: int,
    permission_type: int,
) -> AclBinding:
    pattern = ResourcePattern(ResourceType(resource_type), name, PatternType(pattern_type))
    operation, permission_type = AclOperation(operation), AclPermissionType(permission_type)
    # No such ACL was ever stored: the codes of a damaged row become UNKNOWN.
    if 0 in (pattern.resource_type, pattern.pattern_type, operation, permission_type):
        raise ValueError(f"an ACL of {principal} has an unknown code")
    return AclBinding(pattern, AccessControlEntry(principal, host, operation, permission_type))


def _topic(name: str, text: str) -> StoredTopic:
    cells = json.loads(text)
    topic_id = urlsafe_b64decode(cells["topic_id"] + "==")
    partitions, factor = cells["partitions"], cells["replication_factor"]
    return StoredTopic(name, topic_id, partitions, factor, cells["configs"])


def _token(token_id: str, text: str) -> StoredToken:
    cells = json.loads(text)
    cells["renewers"] = tuple(cells["renewers"])
    cells["fingerprint"] = bytes.fromhex(cells["fingerprint"])
    return StoredToken(token_id=token_id, **cells)
