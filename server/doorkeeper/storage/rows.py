"""Changes as rows of the change log, and rows as the values that a change is made of."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

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
    ConfigKey,
    CredentialKey,
    StorageError,
    StoredBinding,
    StoredToken,
    StoredTopic,
)
from doorkeeper.storage.schema import LogKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from doorkeeper.storage.contract import Change

Cell = str | int | None
LogRow = tuple[Cell, ...]
"""A row of ``change_log``, in the order of its columns."""

Statement = tuple[str, list[Cell]]
"""SQL, and what its question marks stand for."""

_COLUMNS = 21

ROWS_MAX = 256
"""Rows in one statement. apsw keeps prepared statements of up to 16 KiB of text; this has 11."""

_NO_ENTRY: tuple[Cell, ...] = (None,) * 5
_NO_TOPIC: tuple[Cell, ...] = (None,) * 5
"""Nothing from the column ``topic`` on: neither a topic, nor a value, nor a record."""

_NO_CONFIG: tuple[Cell, ...] = (None,) * 4
_NO_RECORD: tuple[Cell, ...] = (None,) * 2
_PADDING: tuple[Cell, ...] = (None,) * _COLUMNS


def log_rows(change: Change, revision: int, time_ms: int) -> list[LogRow]:
    """Return what the change log says of a change: what goes first, then what comes.

    Source: the columns in ``schema``.
    """
    head = (time_ms, *change.author)
    rows: list[LogRow] = []
    # Bindings come by the thousand: a row is one tuple, made at once.
    for kind, bindings in (
        (LogKind.BINDING_DELETED, change.bindings_removed),
        (LogKind.BINDING_CREATED, change.bindings_added),
    ):
        for item, (binding_id, (pattern, entry)) in enumerate(bindings, len(rows)):
            rows.append((revision, item, kind, *head, binding_id, *pattern, *entry, *_NO_TOPIC))
    for item, (other, *cells) in enumerate(beside_bindings(change), len(rows)):
        rows.append((revision, item, other, *head, *cells))
    return rows


def beside_bindings(change: Change) -> Iterator[tuple[Cell, ...]]:
    """Return what is changed beside bindings: the kind, then the cells behind the author's."""
    for name in change.topics_removed:
        yield (LogKind.TOPIC_DELETED, *_named(name), None, *_NO_CONFIG)
    for topic in change.topics_added:
        yield (LogKind.TOPIC_CREATED, *_named(topic.name), topic_json(topic), *_NO_CONFIG)
    for topic in change.topics_altered:
        yield (LogKind.TOPIC_ALTERED, *_named(topic.name), topic_json(topic), *_NO_CONFIG)
    for key in change.configs_deleted:
        yield (LogKind.CONFIG_DELETED, *_named(key.broker), None, key.name, None, *_NO_RECORD)
    for key, value in change.configs_set:
        yield (LogKind.CONFIG_SET, *_named(key.broker), None, key.name, value, *_NO_RECORD)
    yield from _credentials_and_tokens(change)


def _credentials_and_tokens(change: Change) -> Iterator[tuple[Cell, ...]]:
    for owner in change.credentials_deleted:
        yield (LogKind.CREDENTIAL_DELETED, *_recorded(owner.user), owner.mechanism, None)
    for owner, credential in change.credentials_set:
        cells = (owner.mechanism, credential_json(credential))
        yield (LogKind.CREDENTIAL_SET, *_recorded(owner.user), *cells)
    for token_id in change.tokens_deleted:
        yield (LogKind.TOKEN_DELETED, *_recorded(token_id), None, None)
    for token in change.tokens_set:
        yield (LogKind.TOKEN_SET, *_recorded(token.token_id), None, token_json(token))


def _named(name: str) -> tuple[Cell, ...]:
    return (None, None, name, *_NO_ENTRY)


def _recorded(name: str) -> tuple[Cell, ...]:
    """Return the cells up to the mechanism."""
    return (*_named(name), None, None, None)


def append(connection: apsw.Connection, rows: list[LogRow]) -> None:
    """Write rows and, by the triggers, what they say; one transaction, durable at return."""
    execute(connection, statements(rows))


def statements(rows: list[LogRow]) -> list[Statement]:
    """Return the statements that write rows.

    Up to ``ROWS_MAX`` rows are one statement and so one call into SQLite: see ``schema``.
    """
    return [_insert(rows[at : at + ROWS_MAX]) for at in range(0, len(rows), ROWS_MAX)]


def execute(connection: apsw.Connection, made: list[Statement]) -> None:
    """Execute statements, at least one, in one transaction; durable at return."""
    if len(made) == 1:
        connection.execute(*made[0])
        return
    connection.execute("BEGIN IMMEDIATE")
    for statement in made:
        connection.execute(*statement)
    connection.execute("COMMIT")


def _insert(rows: list[LogRow]) -> Statement:
    size = padded(len(rows))
    cells = list(chain.from_iterable(rows))
    cells.extend(_PADDING * (size - len(rows)))
    return _insert_statement(size), cells


def padded(count: int) -> int:
    """Return how many rows a statement for so many has: the next power of two.

    So few prepared statements serve all numbers.
    """
    return 1 << (count - 1).bit_length()


@lru_cache
def _insert_statement(size: int) -> str:
    """Return the statement for ``size`` rows, of which the last may be padding."""
    row = f"({','.join('?' * _COLUMNS)})"
    values = ",".join([row] * size)
    return f"INSERT INTO change_log SELECT * FROM (VALUES {values}) WHERE column1 IS NOT NULL"  # noqa: S608 - nothing but question marks


_RESOURCE_TYPES = {int(member): member for member in ResourceType}
_PATTERN_TYPES = {int(member): member for member in PatternType}
_OPERATIONS = {int(member): member for member in AclOperation}
_PERMISSIONS = {int(member): member for member in AclPermissionType}


def read_bindings(connection: apsw.Connection) -> Iterator[StoredBinding]:
    """Read all bindings, in no order; a principal or host that repeats is one object.

    About 0.12 s for 100,000, and twice that when the garbage collector runs meanwhile. The values
    are made by ``tuple.__new__``: a named tuple's own constructor is a Python function.

    Raises:
        StorageError: a row holds a code that Kafka does not have.

    """
    cursor = connection.execute(
        "SELECT binding_id, resource_type, name, pattern_type,"
        " principal, host, operation, permission_type FROM bindings"
    )
    new = tuple.__new__
    seen: dict[str, str] = {}
    once = seen.setdefault
    try:
        for binding_id, kind, name, pattern_type, principal, host, operation, permission in cursor:
            pattern = (_RESOURCE_TYPES[kind], name, _PATTERN_TYPES[pattern_type])
            entry = (
                once(principal, principal),
                once(host, host),
                _OPERATIONS[operation],
                _PERMISSIONS[permission],
            )
            binding = (new(ResourcePattern, pattern), new(AccessControlEntry, entry))
            yield new(StoredBinding, (binding_id, new(AclBinding, binding)))
    except KeyError as error:
        raise StorageError(f"{connection.filename}: a binding has the code {error}") from error


def read_topics(connection: apsw.Connection) -> Iterator[StoredTopic]:
    """Read all topics that were made over the wire, sorted by name."""
    for name, text in connection.execute("SELECT name, topic FROM topics ORDER BY name"):
        yield topic_of(name, text)


def read_configs(connection: apsw.Connection) -> Iterator[tuple[ConfigKey, str]]:
    """Read all dynamic values, sorted by broker and key."""
    rows = connection.execute("SELECT broker, key, value FROM configs ORDER BY broker, key")
    for broker, key, value in rows:
        yield ConfigKey(broker, key), value


def read_credentials(
    connection: apsw.Connection,
) -> Iterator[tuple[CredentialKey, ScramCredential]]:
    """Read all SCRAM credentials, sorted by user and mechanism."""
    rows = connection.execute(
        "SELECT user, mechanism, salt, stored_key, server_key, iterations"
        " FROM scram_credentials ORDER BY user, mechanism"
    )
    for user, mechanism, *credential in rows:
        yield CredentialKey(user, mechanism), ScramCredential(*credential)


def read_tokens(connection: apsw.Connection) -> Iterator[StoredToken]:
    """Read all delegation tokens, sorted by id."""
    rows = connection.execute("SELECT token_id, token FROM delegation_tokens ORDER BY token_id")
    for token_id, text in rows:
        yield token_of(token_id, text)


def topic_json(topic: StoredTopic) -> str:
    """Return all but the name of a topic: ``topic_id`` in Kafka's text form, the rest as it is."""
    return json.dumps(
        {
            "topic_id": urlsafe_b64encode(topic.topic_id).decode().rstrip("="),
            "partitions": topic.partitions,
            "replication_factor": topic.replication_factor,
            "configs": dict(topic.configs),
        },
        ensure_ascii=False,
    )


def topic_of(name: str, text: str) -> StoredTopic:
    """Return the topic that ``topic_json`` wrote."""
    fields = json.loads(text)
    return StoredTopic(
        name,
        urlsafe_b64decode(fields["topic_id"] + "=="),
        fields["partitions"],
        fields["replication_factor"],
        fields["configs"],
    )


def credential_json(credential: ScramCredential) -> str:
    """Return a credential as the trigger ``credential_set`` reads it: bytes as hex digits."""
    return json.dumps(
        {
            "salt": credential.salt.hex(),
            "stored_key": credential.stored_key.hex(),
            "server_key": credential.server_key.hex(),
            "iterations": credential.iterations,
        }
    )


def token_json(token: StoredToken) -> str:
    """Return all but the id of a token."""
    fields = token._asdict() | {"fingerprint": token.fingerprint.hex()}
    del fields["token_id"]
    return json.dumps(fields, ensure_ascii=False)


def token_of(token_id: str, text: str) -> StoredToken:
    """Return the token that ``token_json`` wrote."""
    fields = json.loads(text)
    fields["renewers"] = tuple(fields["renewers"])
    fields["fingerprint"] = bytes.fromhex(fields["fingerprint"])
    return StoredToken(token_id=token_id, **fields)
