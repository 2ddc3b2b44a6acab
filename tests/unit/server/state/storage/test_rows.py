"""Changes as rows of the log, in few statements; and what the triggers make of them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import apsw
import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.base.slices import run_to_end
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import Edit, edit
from doorkeeper.server.schema.declared import ACL, CONFIG, CREDENTIAL, TOKEN, TOPIC
from doorkeeper.server.state.storage.reading import read_rows
from doorkeeper.server.state.storage.rows import MANY, ROWS_FULL, SHARED_ROWS_MAX, log_statements
from doorkeeper.server.state.store import LogEntry, StorageError
from testkit.stores import (
    AUTHOR,
    NOW_MS,
    adding,
    append,
    binding,
    config,
    create_tables,
    credential,
    removing,
    token,
    topic,
    write_entries,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.schema.kind import Kind


@pytest.fixture
def connection() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    create_tables(connection)
    yield connection
    connection.close()


def log(connection: apsw.Connection) -> list[tuple[object, ...]]:
    return list(connection.execute("SELECT * FROM change_log ORDER BY revision, item"))


def test_deletions_precede_additions(connection: apsw.Connection) -> None:
    """A change that replaces is read as it happened; items are numbered from 0 in each revision."""
    first = edit(ACL, set=[binding(1)]) | edit(TOPIC, set=[topic("old")])
    second = edit(ACL, set=[binding(2)], deleted=[binding(1)]) | edit(
        TOPIC, set=[topic("new")], deleted=[topic("old")]
    )

    entries = [LogEntry(revision, AUTHOR, each) for revision, each in ((8, first), (9, second))]
    write_entries(connection, entries)

    assert [(*row[:4], row[6]) for row in log(connection)] == [
        (8, 0, "acl", binding(1).binding_id, 0),
        (8, 1, "topic", "old", 0),
        (9, 0, "acl", binding(1).binding_id, 1),
        (9, 1, "acl", binding(2).binding_id, 0),
        (9, 2, "topic", "old", 1),
        (9, 3, "topic", "new", 0),
    ]
    assert {row[7:-2] for row in log(connection)} == {(NOW_MS, *AUTHOR)}


@pytest.mark.parametrize(
    "count", [1, 2, MANY - 1, MANY, SHARED_ROWS_MAX, SHARED_ROWS_MAX + 1, 2500]
)
def test_any_number_of_rows_is_stored(connection: apsw.Connection, count: int) -> None:
    """Creations, and a change that deletes all and creates others, of any size."""
    added = adding(*range(count))
    others = adding(*range(count, 2 * count))
    replaced = {ACL: Edit(set=others[ACL].set, deleted=added[ACL].set)}

    append(connection, added, 1)
    append(connection, replaced, 2)

    assert set(read_rows(connection, ACL)) == set(others[ACL].set)
    rows = log(connection)
    assert [row[:2] for row in rows] == [
        *((1, item) for item in range(count)),
        *((2, item) for item in range(2 * count)),
    ]
    assert {row[7:-2] for row in rows} == {(NOW_MS, *AUTHOR)}
    assert not connection.in_transaction


def test_small_changes_share_a_statement() -> None:
    """A group is one call into SQLite, as long as it has few rows."""
    entries = [LogEntry(number + 1, AUTHOR, adding(number)) for number in range(ROWS_FULL)]

    assert len(run_to_end(log_statements(entries, NOW_MS, "")).statements) == 1


def test_large_and_small_changes_keep_their_order(connection: apsw.Connection) -> None:
    """A change that deletes what one before it set finds it, whatever their sizes."""
    sizes = [1, MANY, 1, MANY * 3, 2]
    changes: list[Change] = []
    for size in sizes:
        changes += [adding(*range(size)), removing(*range(size))]
    changes.append(adding(7))
    entries = [LogEntry(revision, AUTHOR, each) for revision, each in enumerate(changes, 1)]

    write_entries(connection, entries)

    assert list(read_rows(connection, ACL)) == [binding(7)]


NAMES = [
    "a\0b",
    "\0",
    "",
    "*",
    "tab\tquote'\"\\",
    "snow ☃, clef 𝄞, combining é, bidi \u202e, mark \ufeff",
    "e\u0301",
    "\U0010ffff",
    "x" * 33_000,
]


@pytest.mark.parametrize("copies", [1, MANY])
def test_names_round_trip(connection: apsw.Connection, copies: int) -> None:
    _, (pattern, entry) = binding(1)
    bindings = [
        StoredBinding(
            f"id-{number}-{name[:9]}",
            binding(1).binding._replace(
                pattern=pattern._replace(name=name),
                entry=entry._replace(principal=f"User:{name}", host=name),
            ),
        )
        for name in NAMES
        for number in range(copies)
    ]
    topics = [replace(topic("t"), name=name, configs={name: name}) for name in NAMES]

    append(connection, edit(ACL, set=bindings) | edit(TOPIC, set=topics), 1)

    assert sorted(read_rows(connection, ACL)) == sorted(bindings)
    assert sorted(read_rows(connection, TOPIC)) == sorted(topics)


def test_all_codes_round_trip(connection: apsw.Connection) -> None:
    """All codes of Kafka come back as members of its enums, TwoPhaseCommit among them."""
    codes = product(ResourceType, PatternType, AclOperation, AclPermissionType)
    stored = [
        StoredBinding(
            f"id-{number:05}",
            AclBinding(
                ResourcePattern(kind, "name", pattern),
                AccessControlEntry("User:a", "*", operation, permission),
            ),
        )
        for number, (kind, pattern, operation, permission) in enumerate(codes)
    ]

    append(connection, edit(ACL, set=stored), 1)

    found = sorted(read_rows(connection, ACL))
    assert found == stored
    assert isinstance(found[0].binding.entry.operation, AclOperation)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(ACL, '[2,"n",3,"User:a","*",99,3]'), (ACL, "[]"), (ACL, "{"), (TOPIC, "7"), (TOKEN, "[1]")],
)
def test_undecodable_row_is_damage(connection: apsw.Connection, kind: Kind, value: str) -> None:
    connection.execute("INSERT INTO item VALUES (?, 'key', ?, NULL, 1)", (kind.name, value))

    with pytest.raises(StorageError, match="the store is damaged"):
        list(read_rows(connection, kind))


def test_rows_of_unknown_kinds_are_kept(connection: apsw.Connection) -> None:
    connection.execute("INSERT INTO item VALUES ('later', 'key', '[1]', NULL, 1)")

    append(connection, adding(1), 2)

    assert list(read_rows(connection, ACL)) == [binding(1)]
    assert connection.execute("SELECT value FROM item WHERE kind = 'later'").get == "[1]"


KEPT = (
    (TOPIC, topic("a"), topic("a", 9)),
    (CONFIG, config("k", "v\0w", "1"), config("k", "x", "1")),
    (CREDENTIAL, credential("a\0b"), credential("a\0b", iterations=8192)),
    (TOKEN, token("t"), token("t", "User:bob")),
)


@pytest.mark.parametrize(("kind", "row", "other"), KEPT)
def test_row_is_set_replaced_and_deleted(
    connection: apsw.Connection, kind: Kind, row: object, other: object
) -> None:
    append(connection, edit(kind, set=[row]), 1)
    assert list(read_rows(connection, kind)) == [row]

    append(connection, edit(kind, set=[other]), 2)
    assert list(read_rows(connection, kind)) == [other]
    assert connection.execute("SELECT revision FROM item").get == 2

    append(connection, edit(kind, deleted=[other]), 3)
    assert list(read_rows(connection, kind)) == []
    values = [row[4] for row in log(connection)]
    assert values == [kind.encode(each).value for each in (row, other, other)]


@pytest.mark.parametrize("others", [0, MANY])
def test_deletion_of_a_missing_row_fails(connection: apsw.Connection, others: int) -> None:
    append(connection, edit(ACL, set=map(binding, range(MANY))), 1)
    change = {**removing(*range(others)), **edit(TOPIC, deleted=[topic("a")])}

    with pytest.raises(apsw.ConstraintError, match="a row to delete is not in the store"):
        append(connection, change, 2)
    if connection.in_transaction:
        connection.execute("ROLLBACK")

    assert len(list(read_rows(connection, ACL))) == MANY
    assert len(log(connection)) == MANY


@pytest.mark.parametrize("count", [1, 300])
def test_log_contains_no_secrets(connection: apsw.Connection, count: int) -> None:
    users = [credential(f"user-{number:03}") for number in range(count)]

    append(connection, edit(CREDENTIAL, set=users), 1)
    assert sorted(read_rows(connection, CREDENTIAL)) == users
    append(connection, edit(CREDENTIAL, deleted=users), 2)

    rows = log(connection)
    assert len(rows) == 2 * count
    assert {row[5] for row in rows} == {None}
    assert {row[4] for row in rows} == {"[null,null,null,4096]"}
