from __future__ import annotations

from collections.abc import Iterator

import apsw
import pytest

from doorkeeper.acl.model import AclOperation, Principal, ResourcePattern
from doorkeeper.storage import schema
from doorkeeper.storage.contract import (
    Change,
    ConfigKey,
    StorageError,
    StoredBinding,
    StoredTopic,
)
from doorkeeper.storage.rows import (
    ROWS_MAX,
    append,
    log_rows,
    read_bindings,
    read_configs,
    read_credentials,
    read_tokens,
    read_topics,
    topic_json,
    topic_of,
)
from testkit.stores import AUTHOR, NOW_MS, adding, binding, credential, token, topic


@pytest.fixture
def connection() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    connection.execute(schema.TABLES)
    connection.execute(schema.VERSION_2)
    connection.execute(schema.VERSION_3)
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
        topics_altered=(topic("kept"),),
        configs_set=((ConfigKey("1", "super.users"), "User:a"),),
        configs_deleted=(ConfigKey("", "max.connections"),),
        credentials_set=(credential("new"),),
        credentials_deleted=(credential("old")[0],),
        tokens_set=(token("new"),),
        tokens_deleted=("old",),
    )

    rows = log_rows(change, 9, NOW_MS)

    assert [row[:4] for row in rows] == [
        (9, 0, schema.LogKind.BINDING_DELETED, NOW_MS),
        (9, 1, schema.LogKind.BINDING_CREATED, NOW_MS),
        (9, 2, schema.LogKind.TOPIC_DELETED, NOW_MS),
        (9, 3, schema.LogKind.TOPIC_CREATED, NOW_MS),
        (9, 4, schema.LogKind.TOPIC_ALTERED, NOW_MS),
        (9, 5, schema.LogKind.CONFIG_DELETED, NOW_MS),
        (9, 6, schema.LogKind.CONFIG_SET, NOW_MS),
        (9, 7, schema.LogKind.CREDENTIAL_DELETED, NOW_MS),
        (9, 8, schema.LogKind.CREDENTIAL_SET, NOW_MS),
        (9, 9, schema.LogKind.TOKEN_DELETED, NOW_MS),
        (9, 10, schema.LogKind.TOKEN_SET, NOW_MS),
    ]
    assert {row[4:8] for row in rows} == {AUTHOR}
    assert {len(row) for row in rows} == {21}


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


def test_a_value_is_set_replaced_and_deleted(connection: apsw.Connection) -> None:
    """The same key of all nodes and of one are two values; the last one written counts."""
    of_all, of_one = ConfigKey("", "super.users"), ConfigKey("1", "super.users")
    changes = (
        Change(author=AUTHOR, configs_set=((of_all, "User:a"), (of_one, "User:b"))),
        Change(author=AUTHOR, configs_set=((of_one, "User:\0c"),), configs_deleted=(of_all,)),
    )

    for revision, change in enumerate(changes, 1):
        append(connection, log_rows(change, revision, NOW_MS))

    assert list(read_configs(connection)) == [(of_one, "User:\0c")]
    log = "SELECT name, config_key, config_value, author_principal FROM change_log"
    assert list(connection.execute(f"{log} WHERE revision = 2 ORDER BY item")) == [
        ("", "super.users", None, AUTHOR.principal),
        ("1", "super.users", "User:\0c", AUTHOR.principal),
    ]


@pytest.mark.parametrize(
    "change",
    [
        Change(author=AUTHOR, configs_deleted=(ConfigKey("1", "absent"),)),
        Change(author=AUTHOR, topics_altered=(topic("absent"),)),
        Change(author=AUTHOR, credentials_deleted=(credential("absent")[0],)),
        Change(author=AUTHOR, tokens_deleted=("absent",)),
    ],
)
def test_what_is_not_there_cannot_be_changed(connection: apsw.Connection, change: Change) -> None:
    """The log never says what the tables do not."""
    with pytest.raises(apsw.ConstraintError, match="is not in the store"):
        append(connection, log_rows(change, 1, NOW_MS))


def test_an_altered_topic_keeps_its_place(connection: apsw.Connection) -> None:
    """Its row has the new settings and the revision that altered it."""
    changed = topic("orders")._replace(configs={"retention.ms": "1"})
    append(connection, log_rows(Change(author=AUTHOR, topics_added=(topic("orders"),)), 1, NOW_MS))

    append(connection, log_rows(Change(author=AUTHOR, topics_altered=(changed,)), 2, NOW_MS))

    assert list(read_topics(connection)) == [changed]
    assert connection.execute("SELECT revision FROM topics").get == 2


def test_a_credential_is_set_replaced_and_deleted(connection: apsw.Connection) -> None:
    """Each mechanism of a user is one credential; the last one written counts."""
    of_256, of_512 = credential("a\0b"), credential("a\0b", "SCRAM-SHA-512", 8192)
    replaced = (of_256[0], credential("other", iterations=16384)[1])
    changes = (
        Change(author=AUTHOR, credentials_set=(of_512, of_256, credential("bob"))),
        Change(author=AUTHOR, credentials_set=(replaced,), credentials_deleted=(of_512[0],)),
    )

    append(connection, log_rows(changes[0], 1, NOW_MS))
    assert list(read_credentials(connection)) == [of_256, of_512, credential("bob")]
    append(connection, log_rows(changes[1], 2, NOW_MS))

    assert list(read_credentials(connection)) == [replaced, credential("bob")]


@pytest.mark.parametrize("count", [1, 300])
def test_the_log_keeps_nothing_that_a_password_can_be_tried_on(
    connection: apsw.Connection, count: int
) -> None:
    """It says whose credential of which mechanism was set, and by whom; salt and keys are gone."""
    made = tuple(credential(f"user-{number:03}") for number in range(count))

    append(connection, log_rows(Change(author=AUTHOR, credentials_set=made), 1, NOW_MS))

    rows = list(connection.execute("SELECT * FROM change_log ORDER BY item"))
    assert len(rows) == count
    assert [row[10] for row in rows] == [key.user for key, _ in made]
    assert {row[19:] for row in rows} == {("SCRAM-SHA-256", None)}
    assert {row[4] for row in rows} == {AUTHOR.principal}
    _, salt_of_first = made[0]
    assert salt_of_first.salt.hex() not in str(rows)


def test_a_token_is_made_renewed_and_deleted(connection: apsw.Connection) -> None:
    """Times change in place; renewers with commas and accents come back as they were."""
    renewed = token("one")._replace(expiry_ms=NOW_MS + 1)

    append(
        connection, log_rows(Change(author=AUTHOR, tokens_set=(token("two"), token("one"))), 1, 0)
    )
    assert list(read_tokens(connection)) == [token("one"), token("two")]
    change = Change(author=AUTHOR, tokens_set=(renewed,), tokens_deleted=("two",))
    append(connection, log_rows(change, 2, NOW_MS))

    assert list(read_tokens(connection)) == [renewed]
