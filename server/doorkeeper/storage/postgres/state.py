"""All that the shared store holds, as it was at one revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from doorkeeper.acl.model import AccessControlEntry, AclBinding, ResourcePattern
from doorkeeper.collector import collector_paused
from doorkeeper.storage.contract import (
    ConfigKey,
    CredentialKey,
    StorageError,
    StoredBinding,
    StoredState,
)
from doorkeeper.storage.postgres.cells import read
from doorkeeper.storage.postgres.rows import (
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSIONS,
    RESOURCE_TYPES,
    credential_of,
    head,
    maker_of,
)
from doorkeeper.storage.rows import token_of, topic_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import asyncpg

T = TypeVar("T")

_ROWS_AT_ONCE: Final = 5_000
"""Between two such pieces the loop turns: a node that reloads goes on answering."""

_BINDINGS: Final = (
    "SELECT binding_id, resource_type, name, pattern_type,"
    " principal, host, operation, permission_type FROM doorkeeper.acl"
)


async def read_state(connection: asyncpg.Connection) -> StoredState:
    """Read everything in one transaction that sees one moment; it must not be in another.

    Raises:
        StorageError: a row holds what nobody wrote.

    """
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        revision = await head(connection)
        maker = await maker_of(connection, revision)
        try:
            bindings = await _bindings(connection)
        except KeyError as error:
            raise StorageError(f"the store holds a binding with the code {error}") from error
        topics = await connection.fetch("SELECT name, topic FROM doorkeeper.topic ORDER BY name")
        configs = await connection.fetch(
            "SELECT broker, key, value FROM doorkeeper.config ORDER BY broker, key"
        )
        credentials = await connection.fetch(
            "SELECT user_name, mechanism, salt, stored_key, server_key, iterations"
            " FROM doorkeeper.credential ORDER BY user_name, mechanism"
        )
        tokens = await connection.fetch(
            "SELECT token_id, token FROM doorkeeper.token ORDER BY token_id"
        )
    return StoredState(
        revision=revision,
        made_by=None if maker is None else maker[0],
        bindings=tuple(bindings),
        topics=tuple(_understood("topic", topic_of, row["name"], row["topic"]) for row in topics),
        configs=tuple(
            (ConfigKey(read(row["broker"]), read(row["key"])), read(row["value"]))
            for row in configs
        ),
        credentials=tuple(
            (CredentialKey(read(row["user_name"]), read(row["mechanism"])), credential_of(row))
            for row in credentials
        ),
        tokens=tuple(
            _understood("token", token_of, row["token_id"], row["token"]) for row in tokens
        ),
    )


def _understood(kind: str, value_of: Callable[[str, str], T], name: str, text: str) -> T:
    """Return what a row holds as JSON."""
    try:
        return value_of(read(name), read(text))
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"the store is damaged: what it holds of the {kind} {read(name)!r} cannot be read"
        ) from error


async def _bindings(connection: asyncpg.Connection) -> list[StoredBinding]:
    """Read all bindings, in no order; a principal or host that repeats is one object."""
    found: list[StoredBinding] = []
    once: dict[str, str] = {}
    cursor = await connection.cursor(_BINDINGS)
    with collector_paused():  # it would look at each binding several times: 0.6 s more at 100,000
        while rows := await cursor.fetch(_ROWS_AT_ONCE):
            found += [_binding(row, once) for row in rows]
    return found


def _binding(row: asyncpg.Record, once: dict[str, str]) -> StoredBinding:
    """Make a binding by ``tuple.__new__``: a named tuple's own constructor is a Python function."""
    new = tuple.__new__
    binding_id, kind, name, pattern_type, principal, host, operation, permission = row
    pattern = (RESOURCE_TYPES[kind], read(name), PATTERN_TYPES[pattern_type])
    entry = (
        once.get(principal) or once.setdefault(principal, read(principal)),
        once.get(host) or once.setdefault(host, read(host)),
        OPERATIONS[operation],
        PERMISSIONS[permission],
    )
    binding = (new(ResourcePattern, pattern), new(AccessControlEntry, entry))
    return new(StoredBinding, (binding_id, new(AclBinding, binding)))
