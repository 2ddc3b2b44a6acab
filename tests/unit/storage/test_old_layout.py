"""The log of an older store, row by row; ``test_migrations`` has the rest of the conversion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.kinds.declared import ACL, KINDS, TOKEN, TOPIC
from doorkeeper.state.store import StorageError
from doorkeeper.storage.files import DATABASE_NAME
from doorkeeper.storage.old_layout import convert, read
from testkit.old_stores import ROWS, create_old_store
from testkit.stores import AUTHOR, NOW_MS, open_store, query, topic

if TYPE_CHECKING:
    from pathlib import Path


def test_the_log_is_kept(data_dir: Path) -> None:
    """Deletions get the value that was set before; of secrets nothing is known."""
    create_old_store(data_dir, 3)

    open_store(data_dir).close()

    log = query(
        data_dir, "SELECT kind, key, value, deleted FROM change_log ORDER BY revision, item"
    )
    one = ACL.encode(ROWS[ACL.name][0]).value
    two = one.replace("snow ☃ \\u0000", "orders")
    topics = {count: TOPIC.encode(topic("x", count)).value for count in (3, 5, 9)}
    bob = '["bob","SCRAM-SHA-256"]', "[null,null,null,8192]"
    eve = '["eve","SCRAM-SHA-512"]'
    tokens = [TOKEN.encode(ROWS[TOKEN.name][0]._replace(max_ms=until)).value for until in (3, 4)]
    assert log == [
        ("acl", "one", one, 0),
        ("acl", "two", two, 0),
        ("topic", "kept", topics[3], 0),
        ("topic", "gone", topics[5], 0),
        ("acl", "two", two, 1),
        ("topic", "gone", topics[5], 1),
        ("topic", "kept", topics[9], 0),
        ("config", '["","super.users"]', '["User:x"]', 0),
        ("config", '["1","super.users"]', '["User:y"]', 0),
        ("config", '["1","super.users"]', '["User:y"]', 1),
        ("credential", bob[0], None, 0),
        ("credential", *bob, 0),
        ("credential", eve, None, 0),
        ("credential", eve, None, 1),
        ("token", "t1", tokens[0], 0),
        ("token", "t2", tokens[1], 0),
        ("token", "t1", tokens[0], 1),
    ]
    authors = query(
        data_dir,
        "SELECT DISTINCT time_ms, author_principal, author_host,"
        " author_listener, author_client_id FROM change_log",
    )
    assert authors == [(NOW_MS, *AUTHOR[:4])]


@pytest.mark.parametrize("kind", ROWS)
def test_rows_are_read_without_a_conversion(data_dir: Path, kind: str) -> None:
    """The store stays as it is."""
    create_old_store(data_dir, 3)
    connection = apsw.Connection(str(data_dir / DATABASE_NAME))

    assert list(read(connection, KINDS[kind])) == ROWS[kind]

    connection.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE bindings SET operation = 99",
        "UPDATE topics SET topic = '{}'",
        "UPDATE delegation_tokens SET token = 'x'",
        "UPDATE change_log SET kind = 77 WHERE revision = 1",
    ],
)
def test_what_cannot_be_read_is_damage(data_dir: Path, damage: str) -> None:
    """The error names the file."""
    create_old_store(data_dir, 3)
    connection = apsw.Connection(str(data_dir / DATABASE_NAME))
    connection.execute(damage)

    with pytest.raises(StorageError, match=r"doorkeeper\.db: the store is damaged"):
        convert(connection)

    connection.close()
