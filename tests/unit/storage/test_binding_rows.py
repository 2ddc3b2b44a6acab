"""Many bindings in few statements: the same rows as one by one."""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import pytest

from doorkeeper.acl.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.storage import schema
from doorkeeper.storage.binding_rows import BINDINGS_MAX, MANY, binding_statements, has_many
from doorkeeper.storage.contract import Change, StoredBinding
from doorkeeper.storage.rows import append, execute, log_rows, read_bindings
from testkit.stores import AUTHOR, NOW_MS, adding, binding, removing, topic


def opened() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute(schema.TABLES)
    connection.execute(schema.VERSION_2)
    connection.execute(schema.VERSION_3)
    return connection


@pytest.fixture
def connection() -> Iterator[apsw.Connection]:
    connection = opened()
    yield connection
    connection.close()


def log(connection: apsw.Connection) -> list[tuple[object, ...]]:
    return list(connection.execute("SELECT * FROM change_log ORDER BY revision, item"))


@pytest.mark.parametrize("count", [1, 2, MANY, 255, 1000, BINDINGS_MAX, BINDINGS_MAX + 1, 2500])
def test_they_say_what_whole_rows_say(connection: apsw.Connection, count: int) -> None:
    """Creations, and a change that deletes and creates, leave the log that whole rows leave."""
    added = adding(*range(count))
    replaced = Change(
        author=AUTHOR,
        bindings_removed=added.bindings_added,
        bindings_added=adding(*range(count, 2 * count)).bindings_added,
    )
    whole = opened()

    for revision, change in enumerate((added, replaced), 1):
        execute(connection, binding_statements(change, revision, NOW_MS))
        append(whole, log_rows(change, revision, NOW_MS))

    assert log(connection) == log(whole)
    assert set(read_bindings(connection)) == set(replaced.bindings_added)
    assert not connection.in_transaction
    whole.close()


def test_every_code_and_text_is_kept(connection: apsw.Connection) -> None:
    """Codes share a number, and none of them is taken for another one."""
    name = "a\0b snow ☃ '\"?1"
    stored = tuple(
        StoredBinding(
            f"id-{kind}-{pattern}-{operation}-{permission}",
            AclBinding(
                ResourcePattern(kind, name, pattern),
                AccessControlEntry(f"User:{name}", name, operation, permission),
            ),
        )
        for kind in ResourceType
        for pattern in PatternType
        for operation in AclOperation
        for permission in AclPermissionType
    )

    execute(connection, binding_statements(Change(author=AUTHOR, bindings_added=stored), 1, NOW_MS))

    assert set(read_bindings(connection)) == set(stored)


def test_only_many_bindings_and_nothing_else_are_written_so() -> None:
    """A few are faster as whole rows, and what else a change does has other cells."""
    many = adding(*range(MANY))

    assert has_many(many)
    assert has_many(removing(*range(MANY)))
    assert not has_many(adding(*range(MANY - 1)))
    both = Change(
        author=AUTHOR, bindings_added=many.bindings_added, topics_added=(topic("orders"),)
    )
    assert not has_many(both)


def test_a_binding_to_delete_that_is_missing_stops_all(connection: apsw.Connection) -> None:
    """The trigger refuses it, and nothing of the statement stays."""
    append(connection, log_rows(adding(*range(MANY - 1)), 1, NOW_MS))

    with pytest.raises(apsw.ConstraintError, match="a binding to delete is not in the store"):
        execute(connection, binding_statements(removing(*range(MANY)), 2, NOW_MS))

    assert set(read_bindings(connection)) == {binding(number) for number in range(MANY - 1)}


def test_the_largest_statement_is_kept(connection: apsw.Connection) -> None:
    """It is short enough for apsw's cache: its second use is a hit."""
    for revision in (1, 2):
        numbers = range(revision * BINDINGS_MAX, (revision + 1) * BINDINGS_MAX)
        execute(connection, binding_statements(adding(*numbers), revision, NOW_MS))

    assert connection.cache_stats()["hits"] >= 1
    assert connection.cache_stats()["too_big"] == 0
