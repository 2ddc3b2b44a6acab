"""The tables of the embedded store: schema version 1, and what versions 2 and 3 add.

``change_log`` is the only table that the server writes. Triggers carry each of its rows into
the other tables inside the same statement, so the log and the tables cannot disagree, and one
statement of many rows commits a whole group. That matters because each call into SQLite gives up
Python's global lock and may wait 5 ms to get it back while the event loop is busy: a group of 256
changes took 9 ms this way and 700 ms with a call for each row.

    change_log   (revision, item): append-only, pruned from its old end, never empty again after
                 the first change: its newest revision is the store's
    bindings     the ACLs as they are now, and the revision that made each
    topics       the topics made over the wire; ``topic`` is JSON, see ``rows``
    configs      since version 2: dynamic values of keys, by broker (empty: all of them) and key
    scram_credentials
                 since version 3: salt, keys and iterations, by user and mechanism
    delegation_tokens
                 since version 3: tokens without what logs in with them
    meta         cluster_id, salt_key, schema_version, created_by, created_ms

A credential's salt and keys pass through the log and do not stay there: the trigger that carries
them into ``scram_credentials`` empties the cell. What was replaced or deleted is nowhere, and who
reads the log of changes learns of no password.

Codes are Kafka's. Duplicate bindings are found in memory above; there is no index for them here.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from doorkeeper.storage.contract import StorageError

if TYPE_CHECKING:
    from pathlib import Path

    import apsw

APPLICATION_ID = 0x446F6F72
"""``Door``: in the file's header, so that ``file`` and we know whose database it is."""

FIRST_VERSION = 1


class LogKind(IntEnum):
    """What a row of the change log says; the triggers below carry the same numbers."""

    BINDING_CREATED = 1
    BINDING_DELETED = 2
    TOPIC_CREATED = 3
    TOPIC_DELETED = 4
    TOPIC_ALTERED = 5
    CONFIG_SET = 6
    CONFIG_DELETED = 7
    CREDENTIAL_SET = 8
    CREDENTIAL_DELETED = 9
    TOKEN_SET = 10
    TOKEN_DELETED = 11


TABLES = """
CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value ANY  NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE bindings (
    binding_id      TEXT    NOT NULL PRIMARY KEY,
    resource_type   INTEGER NOT NULL,
    name            TEXT    NOT NULL,
    pattern_type    INTEGER NOT NULL,
    principal       TEXT    NOT NULL,
    host            TEXT    NOT NULL,
    operation       INTEGER NOT NULL,
    permission_type INTEGER NOT NULL,
    revision        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE topics (
    name     TEXT    NOT NULL PRIMARY KEY,
    topic    TEXT    NOT NULL,
    revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE change_log (
    revision         INTEGER NOT NULL,
    item             INTEGER NOT NULL,
    kind             INTEGER NOT NULL,
    time_ms          INTEGER NOT NULL,
    author_principal TEXT    NOT NULL,
    author_host      TEXT    NOT NULL,
    author_listener  TEXT    NOT NULL,
    author_client_id TEXT    NOT NULL,
    binding_id       TEXT,
    resource_type    INTEGER,
    name             TEXT    NOT NULL,
    pattern_type     INTEGER,
    principal        TEXT,
    host             TEXT,
    operation        INTEGER,
    permission_type  INTEGER,
    topic            TEXT,
    PRIMARY KEY (revision, item)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER binding_created AFTER INSERT ON change_log
WHEN new.kind = 1 BEGIN
    INSERT INTO bindings VALUES (
        new.binding_id, new.resource_type, new.name, new.pattern_type,
        new.principal, new.host, new.operation, new.permission_type, new.revision
    );
END;

CREATE TRIGGER binding_deleted AFTER INSERT ON change_log
WHEN new.kind = 2 BEGIN
    SELECT RAISE(ABORT, 'a binding to delete is not in the store')
    WHERE NOT EXISTS (SELECT 1 FROM bindings WHERE binding_id = new.binding_id);
    DELETE FROM bindings WHERE binding_id = new.binding_id;
END;

CREATE TRIGGER topic_created AFTER INSERT ON change_log
WHEN new.kind = 3 BEGIN
    INSERT INTO topics VALUES (new.name, new.topic, new.revision);
END;

CREATE TRIGGER topic_deleted AFTER INSERT ON change_log
WHEN new.kind = 4 BEGIN
    SELECT RAISE(ABORT, 'a topic to delete is not in the store')
    WHERE NOT EXISTS (SELECT 1 FROM topics WHERE name = new.name);
    DELETE FROM topics WHERE name = new.name;
END;
"""

VERSION_2 = """
CREATE TABLE configs (
    broker   TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    value    TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (broker, key)
) STRICT, WITHOUT ROWID;

ALTER TABLE change_log ADD COLUMN config_key TEXT;
ALTER TABLE change_log ADD COLUMN config_value TEXT;

CREATE TRIGGER topic_altered AFTER INSERT ON change_log
WHEN new.kind = 5 BEGIN
    SELECT RAISE(ABORT, 'a topic to alter is not in the store')
    WHERE NOT EXISTS (SELECT 1 FROM topics WHERE name = new.name);
    UPDATE topics SET topic = new.topic, revision = new.revision WHERE name = new.name;
END;

CREATE TRIGGER config_set AFTER INSERT ON change_log
WHEN new.kind = 6 BEGIN
    INSERT OR REPLACE INTO configs
    VALUES (new.name, new.config_key, new.config_value, new.revision);
END;

CREATE TRIGGER config_deleted AFTER INSERT ON change_log
WHEN new.kind = 7 BEGIN
    SELECT RAISE(ABORT, 'a value to delete is not in the store')
    WHERE NOT EXISTS (
        SELECT 1 FROM configs WHERE broker = new.name AND key = new.config_key
    );
    DELETE FROM configs WHERE broker = new.name AND key = new.config_key;
END;
"""

VERSION_3 = """
CREATE TABLE scram_credentials (
    user       TEXT    NOT NULL,
    mechanism  TEXT    NOT NULL,
    salt       BLOB    NOT NULL,
    stored_key BLOB    NOT NULL,
    server_key BLOB    NOT NULL,
    iterations INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    PRIMARY KEY (user, mechanism)
) STRICT, WITHOUT ROWID;

CREATE TABLE delegation_tokens (
    token_id TEXT    NOT NULL PRIMARY KEY,
    token    TEXT    NOT NULL,
    revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE change_log ADD COLUMN mechanism TEXT;
ALTER TABLE change_log ADD COLUMN record TEXT;

CREATE TRIGGER credential_set AFTER INSERT ON change_log
WHEN new.kind = 8 BEGIN
    INSERT OR REPLACE INTO scram_credentials VALUES (
        new.name, new.mechanism,
        unhex(new.record ->> 'salt'),
        unhex(new.record ->> 'stored_key'),
        unhex(new.record ->> 'server_key'),
        new.record ->> 'iterations',
        new.revision
    );
    UPDATE change_log SET record = NULL WHERE revision = new.revision AND item = new.item;
END;

CREATE TRIGGER credential_deleted AFTER INSERT ON change_log
WHEN new.kind = 9 BEGIN
    SELECT RAISE(ABORT, 'a credential to delete is not in the store')
    WHERE NOT EXISTS (
        SELECT 1 FROM scram_credentials WHERE user = new.name AND mechanism = new.mechanism
    );
    DELETE FROM scram_credentials WHERE user = new.name AND mechanism = new.mechanism;
END;

CREATE TRIGGER token_set AFTER INSERT ON change_log
WHEN new.kind = 10 BEGIN
    INSERT OR REPLACE INTO delegation_tokens VALUES (new.name, new.record, new.revision);
END;

CREATE TRIGGER token_deleted AFTER INSERT ON change_log
WHEN new.kind = 11 BEGIN
    SELECT RAISE(ABORT, 'a token to delete is not in the store')
    WHERE NOT EXISTS (SELECT 1 FROM delegation_tokens WHERE token_id = new.name);
    DELETE FROM delegation_tokens WHERE token_id = new.name;
END;
"""


def is_new(connection: apsw.Connection) -> bool:
    """Say whether the database holds nothing yet."""
    return bool(connection.execute("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)").get)


def check_ours(connection: apsw.Connection, path: Path) -> None:
    """Refuse a database that another program made; one that is empty is welcome.

    Raises:
        StorageError: the header does not carry our mark.

    """
    if not is_new(connection) and connection.pragma("application_id") != APPLICATION_ID:
        raise StorageError(f"{path}: this is a database, but not a store of Doorkeeper")


def meta(connection: apsw.Connection, key: str) -> str | int:
    """Read one value of ``meta``.

    Raises:
        StorageError: it is not there.

    """
    value = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
    if not isinstance(value, str | int):
        raise StorageError(f"{connection.filename}: the store is damaged: it has no {key}")
    return value


def has_meta(connection: apsw.Connection, key: str) -> bool:
    """Say whether ``meta`` has a value."""
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM meta WHERE key = ?)", (key,)).get)


def set_meta(connection: apsw.Connection, key: str, value: str | int) -> None:
    """Write one value of ``meta``."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def version(connection: apsw.Connection) -> int:
    """Return the schema version of a store."""
    return int(meta(connection, "schema_version"))


def last_revision(connection: apsw.Connection) -> int:
    """Return the number of the newest revision; 0 in a new store."""
    newest = connection.execute("SELECT max(revision) FROM change_log").get
    return newest if isinstance(newest, int) else 0
