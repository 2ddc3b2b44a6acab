"""Stores of the schema versions 1 to 3, with the SQL of the versions that wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import apsw

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
    StoredCredential,
    StoredToken,
)
from doorkeeper.storage.files import DATABASE_NAME
from doorkeeper.storage.schema import APPLICATION_ID
from testkit.stores import AUTHOR, NOW_MS, config, topic

if TYPE_CHECKING:
    from pathlib import Path

CLUSTER_ID: Final = "MkU3OEVBNTcwNTJENDM2Qg"

_VERSION_1: Final = """
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

_VERSION_2: Final = """
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

_VERSION_3: Final = """
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

_TOPIC: Final = (
    '{"topic_id": "AAECAwQFBgcICQoLDA0ODw", "partitions": %d, "replication_factor": 1,'
    ' "configs": {"cleanup.policy": "compact"}}'
)
_CREDENTIAL: Final = '{"salt": "00", "stored_key": "ff01", "server_key": "02", "iterations": %d}'
_TOKEN: Final = (
    '{"owner": "User:alice", "requester": "User:service", "renewers": ["User:b,c"],'
    ' "issue_ms": 1, "expiry_ms": 2, "max_ms": %d, "fingerprint": "00ff"}'
)

_ACL: Final[dict[str, str | int]] = {
    "resource_type": 2,
    "pattern_type": 3,
    "principal": "User:a",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}

CHANGES: Final[tuple[tuple[int, dict[str, str | int]], ...]] = (
    (1, {"kind": 1, "binding_id": "one", "name": "snow \u2603 \0", **_ACL}),
    (1, {"kind": 1, "binding_id": "two", "name": "orders", **_ACL}),
    (1, {"kind": 3, "name": "kept", "topic": _TOPIC % 3}),
    (1, {"kind": 3, "name": "gone", "topic": _TOPIC % 5}),
    (1, {"kind": 2, "binding_id": "two", "name": "orders", **_ACL}),
    (1, {"kind": 4, "name": "gone"}),
    (2, {"kind": 5, "name": "kept", "topic": _TOPIC % 9}),
    (2, {"kind": 6, "name": "", "config_key": "super.users", "config_value": "User:x"}),
    (2, {"kind": 6, "name": "1", "config_key": "super.users", "config_value": "User:y"}),
    (2, {"kind": 7, "name": "1", "config_key": "super.users"}),
    (3, {"kind": 8, "name": "bob", "mechanism": "SCRAM-SHA-256", "record": _CREDENTIAL % 4096}),
    (3, {"kind": 8, "name": "bob", "mechanism": "SCRAM-SHA-256", "record": _CREDENTIAL % 8192}),
    (3, {"kind": 8, "name": "eve", "mechanism": "SCRAM-SHA-512", "record": _CREDENTIAL % 4096}),
    (3, {"kind": 9, "name": "eve", "mechanism": "SCRAM-SHA-512"}),
    (3, {"kind": 10, "name": "t1", "record": _TOKEN % 3}),
    (3, {"kind": 10, "name": "t2", "record": _TOKEN % 4}),
    (3, {"kind": 11, "name": "t1"}),
)
"""Rows of the log, each with the version that introduced it; each is a revision of its own."""


ROWS: Final[dict[str, list[Any]]] = {
    ACL.name: [
        StoredBinding(
            "one",
            AclBinding(
                ResourcePattern(ResourceType.TOPIC, "snow ☃ \0", PatternType.LITERAL),
                AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW),
            ),
        )
    ],
    TOPIC.name: [topic("kept", 9)],
    CONFIG.name: [config("super.users", "User:x")],
    CREDENTIAL.name: [StoredCredential("bob", "SCRAM-SHA-256", b"\0", b"\xff\1", b"\2", 8192)],
    TOKEN.name: [
        StoredToken("t2", "User:alice", "User:service", ("User:b,c",), 1, 2, 4, b"\0\xff")
    ],
}
"""The rows that a store of version 3 has after these changes, by kind."""


def create_old_store(data_dir: Path, version: int) -> None:
    """Create a store of a schema version with a row of everything that it can hold."""
    data_dir.mkdir(exist_ok=True)
    connection = apsw.Connection(str(data_dir / DATABASE_NAME))
    connection.pragma("journal_mode", "wal")
    connection.execute("".join((_VERSION_1, _VERSION_2, _VERSION_3)[:version]))
    connection.pragma("application_id", APPLICATION_ID)
    connection.executemany(
        "INSERT INTO meta VALUES (?, ?)",
        (
            ("cluster_id", CLUSTER_ID),
            ("created_by", "0.1.0"),
            ("created_ms", NOW_MS),
            ("schema_version", version),
            ("salt_key", "ab" * 32),
        ),
    )
    found = (cells for since, cells in CHANGES if since <= version)
    for revision, cells in enumerate(found, 1):
        author = dict(zip(_AUTHOR, AUTHOR, strict=False))
        row = {"revision": revision, "item": 0, "time_ms": NOW_MS, **author, **cells}
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        connection.execute(
            f"INSERT INTO change_log ({names}) VALUES ({marks})",
            tuple(row.values()),
        )
    connection.close()


_AUTHOR: Final = ("author_principal", "author_host", "author_listener", "author_client_id")
