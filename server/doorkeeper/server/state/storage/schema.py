"""The tables of the embedded store, schema version 1: one layout for all kinds.

The server writes only ``change_log``. Triggers apply each of its rows to ``item`` in the same
statement, so log and items cannot disagree, and one statement of many rows commits a whole batch.

 item         the current rows of all kinds, and the revision that set each of them; 0 for the
              rows that a store is created with, which the log does not contain
 change_log   (revision, item): append-only, pruned from its old end. It keeps the newest
              revision, which is the store's. ``deleted`` is 0 or 1; the row of a deletion
              has the previous value. The first row of a revision has its ``hash``, see ``rows``,
              and the ``digest`` of the state after the revision, see ``digest``
 base         the rows of all kinds, without secrets, after the revision ``base_revision``: with the
              revisions of the log behind it they are the state as of each of these. Pruning moves
              it forward
 meta         cluster_id, store_id, salt_key, schema_version, created_by, created_ms; and of the
              base: base_revision, base_hash, base_ms (its time). ``digest`` is that of the state
              before the first revision

``doorkeeper.server.schema`` defines ``key`` and ``value``. Rows of unknown kinds are kept. A
trigger empties secret cells of the log after they were applied.
"""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING, Final

from doorkeeper.base.version import __version__
from doorkeeper.server.schema.change import NO_CHANGE
from doorkeeper.server.state.storage.portable import BASE_KEYS, Base
from doorkeeper.server.state.storage.rows import digest_text, initial_items, row_digest
from doorkeeper.server.state.store import StorageError

if TYPE_CHECKING:
    from pathlib import Path

    import apsw

    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.state.store import StoreIdentity

APPLICATION_ID: Final = 0x446F6F72
"""``Door``: identifies the file's format in its header, for example to ``file``."""

VERSION: Final = 1
"""The schema version; a change of the tables raises it."""

# Triggers instead of further statements: beside a busy event loop a batch of 256 changes took 9 ms
# as one statement, and 700 ms with one for each row, because each call into SQLite may wait 5 ms
# for Python's global lock.
TABLES: Final = """
CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value ANY  NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE item (
    kind     TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    value    TEXT    NOT NULL,
    secret   TEXT,
    revision INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE change_log (
    revision         INTEGER NOT NULL,
    item             INTEGER NOT NULL,
    kind             TEXT    NOT NULL,
    key              TEXT    NOT NULL,
    value            TEXT,
    secret           TEXT,
    deleted          INTEGER NOT NULL CHECK (deleted IN (0, 1)),
    time_ms          INTEGER NOT NULL,
    author_principal TEXT    NOT NULL,
    author_host      TEXT    NOT NULL,
    author_listener  TEXT    NOT NULL,
    author_client_id TEXT    NOT NULL,
    author_software  TEXT    NOT NULL DEFAULT '',
    author_correlation_id INTEGER,
    hash             TEXT,
    digest           TEXT,
    PRIMARY KEY (revision, item)
) STRICT, WITHOUT ROWID;

CREATE TABLE base (
    kind     TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    value    TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
"""

TRIGGERS: Final = """
CREATE TRIGGER item_set AFTER INSERT ON change_log
WHEN new.deleted = 0 BEGIN
    INSERT OR REPLACE INTO item VALUES (new.kind, new.key, new.value, new.secret, new.revision);
END;

CREATE TRIGGER item_deleted AFTER INSERT ON change_log
WHEN new.deleted = 1 BEGIN
    SELECT RAISE(ABORT, 'a row to delete is not in the store')
    WHERE NOT EXISTS (SELECT 1 FROM item WHERE kind = new.kind AND key = new.key);
    DELETE FROM item WHERE kind = new.kind AND key = new.key;
END;

CREATE TRIGGER secret_not_logged AFTER INSERT ON change_log
WHEN new.secret NOT NULL BEGIN
    UPDATE change_log SET secret = NULL WHERE revision = new.revision AND item = new.item;
END;
"""


def create(
    connection: apsw.Connection,
    identity: StoreIdentity,
    now_ms: int,
    initial: Change = NO_CHANGE,
    *,
    triggers: bool = True,
) -> None:
    """Create the tables of a new store in one transaction, with the rows of ``initial``.

    These rows are of revision 0, before the change log. Without ``triggers`` each table can be
    written directly; the caller creates them afterwards.
    """
    rows = list(initial_items(initial))
    with connection:
        connection.execute(TABLES + (TRIGGERS if triggers else ""))
        connection.pragma("application_id", APPLICATION_ID)
        for key, value in (
            ("cluster_id", identity.cluster_id),
            ("store_id", identity.store_id),
            ("salt_key", identity.salt_key.hex()),
            ("schema_version", VERSION),
            ("created_by", __version__),
            ("created_ms", now_ms),
            ("digest", digest_text(sum(starmap(row_digest, rows)))),
        ):
            set_meta(connection, key, value)
        # Not through the change log: the first change of a client is revision 1.
        connection.executemany("INSERT INTO item VALUES (?, ?, ?, ?, 0)", rows)
        connection.execute("INSERT INTO base SELECT kind, key, value, revision FROM item")
        set_base(connection, 0, "", now_ms)


def is_new(connection: apsw.Connection) -> bool:
    return bool(connection.execute("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)").get)


def check_ours(connection: apsw.Connection, path: Path) -> None:
    """Reject the database of another program; an empty one passes."""
    if not is_new(connection) and connection.pragma("application_id") != APPLICATION_ID:
        raise StorageError(f"{path}: not a Doorkeeper store")


def check_readable(connection: apsw.Connection, path: Path) -> None:
    """Reject what this version cannot read."""
    if is_new(connection):
        raise StorageError(f"{path}: the store is empty")
    check_ours(connection, path)
    version = meta(connection, "schema_version")
    if version != VERSION:
        raise StorageError(
            f"{path}: the store has schema version {version}, made by a newer Doorkeeper; version"
            f" {__version__} reads schema version {VERSION}"
        )


def meta(connection: apsw.Connection, key: str) -> str | int:
    """Return one value of ``meta``."""
    value = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
    if not isinstance(value, str | int):
        raise StorageError(f"{connection.filename}: the store is damaged: it has no {key}")
    return value


def set_meta(connection: apsw.Connection, key: str, value: str | int) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def last_revision(connection: apsw.Connection) -> int:
    """Return the newest revision; 0 in a new store."""
    newest = connection.execute("SELECT max(revision) FROM change_log").get
    return newest if isinstance(newest, int) else 0


_NEWEST: Final = "item = 0 AND revision = (SELECT max(revision) FROM change_log)"


def last_hash(connection: apsw.Connection) -> str:
    """Return the hash of the newest revision; empty where it has none."""
    hash_ = connection.execute(f"SELECT hash FROM change_log WHERE {_NEWEST}").get
    return hash_ if isinstance(hash_, str) else ""


def last_digest(connection: apsw.Connection) -> str:
    """Return the digest of the newest revision, or of a new store; empty where it has none."""
    if last_revision(connection) == 0:
        return str(meta(connection, "digest"))
    digest = connection.execute(f"SELECT digest FROM change_log WHERE {_NEWEST}").get
    return digest if isinstance(digest, str) else ""


def set_last_digest(connection: apsw.Connection, digest: str) -> None:
    """Replace what ``last_digest`` returns."""
    if last_revision(connection) == 0:
        set_meta(connection, "digest", digest)
    else:
        connection.execute(f"UPDATE change_log SET digest = ? WHERE {_NEWEST}", (digest,))


def base(connection: apsw.Connection) -> Base:
    """Return the revision after which ``base`` is the state, its hash and its time."""
    return Base(
        int(meta(connection, "base_revision")),
        str(meta(connection, "base_hash")),
        int(meta(connection, "base_ms")),
    )


def set_base(connection: apsw.Connection, revision: int, hash_: str, time_ms: int) -> None:
    """Record the revision after which ``base`` is the state."""
    values: tuple[str | int, ...] = (revision, hash_, time_ms)
    for key, value in zip(BASE_KEYS, values, strict=True):
        set_meta(connection, key, value)
