from __future__ import annotations

from collections.abc import Iterator

import apsw
import pytest

from doorkeeper.acl.model import AclOperation, Principal, ResourcePattern
from doorkeeper.storage import schema
from doorkeeper.storage.contract import Change, StorageError, StoredBinding, StoredTopic
from doorkeeper.storage.rows import (
    ROWS_MAX,
    append,
    log_rows,
    read_bindings,
    read_topics,
    topic_json,
    topic_of,
)
from testkit.stores import AUTHOR, NOW_MS, adding, binding, topic


@pytest.fixture
def connection() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    connection.execute(schema.TABLES)
    yield connection
    connection.close()


def test_removals_come_before_additions_in_the_log() -> None:
    """A change that replaces is read as it happened; items are numbered from 0."""
    change = Change(
        author=AUTHOR,
        bindings_added=(binding(2),),
        bindings_removed=(binding(1),),
        topics_added=(topic("new"),),
        topics_removed=("old",),
    )

    rows = log_rows(change, 9, NOW_MS)

    assert [row[:4] for row in rows] == [
        (9, 0, schema.LogKind.BINDING_DELETED, NOW_MS),
        (9, 1, schema.LogKind.BINDING_CREATED, NOW_MS),
        (9, 2, schema.LogKind.TOPIC_DELETED, NOW_MS),
        (9, 3, schema.LogKind.TOPIC_CREATED, NOW_MS),
    ]
    assert {row[4:8] for row in rows} == {AUTHOR}
    assert {len(row) for row in rows} == {17}


@pytest.mark.parametrize("count", [1, 2, 3, 31, 255, 256, 257, 1000])
def test_any_number_of_rows_is_stored(connection: apsw.Connection, count: int) -> None:
    """Statements of fixed sizes store exactly the rows that were given."""
    numbers = range(count)

    append(connection, log_rows(adding(*numbers), 1, NOW_MS))

    assert set(read_bindings(connection)) == {binding(number) for number in numbers}
    assert connection.execute("SELECT count(*) FROM change_log").get == count
    assert not connection.in_transaction


def test_prepared_statements_are_kept_for_the_largest_group(connection: apsw.Connection) -> None:
    """The longest statement is short enough for apsw's cache: its second use is a hit."""
    for revision in (1, 2):
        numbers = range(revision * ROWS_MAX, (revision + 1) * ROWS_MAX)
        append(connection, log_rows(adding(*numbers), revision, NOW_MS))

    assert connection.cache_stats()["hits"] >= 1
    assert connection.cache_stats()["too_big"] == 0


NAMES = [
    "a\0b",
    "\0",
    "",
    "*",
    "tab\tquote'\"\\",
    "snow ☃, clef 𝄞, combining é, bidi \u202e, mark \ufeff",
    "e\u0301",
    "\U0010ffff",
    "x" * 100_000,
]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_names_are_kept_exactly(connection: apsw.Connection, name: str) -> None:
    """Any text without lone surrogates comes back as it was: NUL, emptiness and all."""
    _, (pattern, entry) = binding(1)
    stored = StoredBinding(
        "id",
        binding(1).binding._replace(
            pattern=pattern._replace(name=name),
            entry=entry._replace(principal=f"User:{name}", host=name),
        ),
    )
    made = StoredTopic(name, bytes(16), 1, 1, {name: name})
    change = Change(author=AUTHOR, bindings_added=(stored,), topics_added=(made,))

    append(connection, log_rows(change, 1, NOW_MS))

    assert list(read_bindings(connection)) == [stored]
    assert list(read_topics(connection)) == [made]


def test_values_read_have_the_types_of_the_domain(connection: apsw.Connection) -> None:
    """What is read is made of named tuples and enum members, not of plain tuples and numbers."""
    append(connection, log_rows(adding(1), 1, NOW_MS))

    (stored,) = read_bindings(connection)

    assert isinstance(stored, StoredBinding)
    assert isinstance(stored.binding.pattern, ResourcePattern)
    assert isinstance(stored.binding.entry.operation, AclOperation)
    assert Principal.parse(stored.binding.entry.principal) == Principal("User", "user-1")


def test_principals_that_repeat_are_one_object(connection: apsw.Connection) -> None:
    """A hundred thousand bindings of one principal hold its text once."""
    append(connection, log_rows(adding(1, 18, 35), 1, NOW_MS))

    principals = {id(stored.binding.entry.principal) for stored in list(read_bindings(connection))}

    assert len(principals) == 1


def test_operation_15_is_kept(connection: apsw.Connection) -> None:
    """TwoPhaseCommit is stored and read as on a broker."""
    _, (pattern, entry) = binding(1)
    entry = entry._replace(operation=AclOperation.TWO_PHASE_COMMIT)
    stored = StoredBinding("id", binding(1).binding._replace(pattern=pattern, entry=entry))

    append(connection, log_rows(Change(author=AUTHOR, bindings_added=(stored,)), 1, NOW_MS))

    assert list(read_bindings(connection)) == [stored]


def test_a_code_that_kafka_does_not_have_is_damage(connection: apsw.Connection) -> None:
    """A binding with operation 99 stops the reading with an error."""
    append(connection, log_rows(adding(1), 1, NOW_MS))
    connection.execute("UPDATE bindings SET operation = 99")

    with pytest.raises(StorageError, match="a binding has the code 99"):
        list(read_bindings(connection))


def test_a_topics_id_has_kafkas_text_form() -> None:
    """The JSON of a topic holds its id as 22 characters, and comes back as the same topic."""
    made = topic("orders")

    text = topic_json(made)

    assert '"topic_id": "AAECAwQFBgcICQoLDA0ODw"' in text
    assert topic_of("orders", text) == made
