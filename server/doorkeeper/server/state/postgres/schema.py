"""The tables of the shared store, and the versions of Doorkeeper that may use them.

All are in the database schema ``doorkeeper``. A server writes only the table ``log``: a statement
trigger applies its rows to ``item``, advances ``head``, empties secrets in the log and notifies the
other nodes. It rejects revisions that do not follow the head, so there is no gap, with or without
the lock. The layout is the same for all kinds: a new kind needs no migration.

 head   one row: the newest revision, and the digest of the items: see ``digest``. A writer locks
        it: ``SELECT ... FOR UPDATE``
 log    one row for each set or deleted row of a revision. ``batch`` is the random id of its
        commit, by which a writer recognises a commit whose response was lost. Times are
        the database's. A deletion has the previous value. The first row of a revision has
        its hash, see ``storage.rows``: the trigger ``chain`` writes it
 item   the rows of all kinds at the head; those that a store is created with are of revision 0,
        and not in the log
 node   one row for each registered node: see ``membership``
 base   the rows of all kinds, without secrets, after the revision ``base_revision``, see
        ``storage.upkeep``: the trigger ``fold`` folds what is pruned from the log into it
 meta   cluster_id, store_id, salt_key, schema_version, min_reader, min_writer, created_by; and of
        the base: base_revision, base_hash, base_ms

Nodes of two versions of Doorkeeper can share one schema: a later version first adds only what it
needs, and raises ``schema_version``. When it removes or changes what earlier ones need, it raises
``min_reader`` and ``min_writer``, the least schema versions that a reader and a writer must know.
So the duties of all nodes are those of triggers, and all statements name their columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import asyncpg

from doorkeeper.base.version import __version__
from doorkeeper.server.schema.change import NO_CHANGE, Change
from doorkeeper.server.state.postgres import digest
from doorkeeper.server.state.postgres.triggers import TRIGGERS
from doorkeeper.server.state.storage.cells import encode
from doorkeeper.server.state.storage.portable import BASE_KEYS, Base
from doorkeeper.server.state.storage.rows import initial_items
from doorkeeper.server.state.store import (
    StorageError,
    StoreIdentity,
    StoreReplaced,
    new_identity,
)

SCHEMA: Final = "doorkeeper"

CHANNEL: Final = "doorkeeper"
"""The trigger notifies this channel; the payload is the newest revision."""

ENCODING: Final = "UTF8"
"""Other encodings cannot store all names that clients may choose."""

VERSION: Final = 1

# A hash instead of a btree: a key may be longer than the entries of a btree allow.
TABLES: Final = """
CREATE TABLE doorkeeper.meta (
    key   text PRIMARY KEY,
    value text NOT NULL
);

CREATE TABLE doorkeeper.head (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    revision bigint  NOT NULL,
    digest   numeric NOT NULL
);
INSERT INTO doorkeeper.head (revision, digest) VALUES (0, 0);

CREATE TABLE doorkeeper.node (
    node_id    integer     PRIMARY KEY,
    run        uuid        NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    leaves_at  timestamptz NOT NULL,
    about      text        NOT NULL
);

INSERT INTO doorkeeper.meta VALUES
    ('schema_version', '1'), ('min_reader', '1'), ('min_writer', '1'),
    ('base_revision', '0'), ('base_hash', ''),
    ('base_ms', (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text);

CREATE TABLE doorkeeper.item (
    kind     text COLLATE "C" NOT NULL,
    key      text COLLATE "C" NOT NULL,
    value    text             NOT NULL,
    secret   text,
    revision bigint           NOT NULL,
    EXCLUDE USING hash ((kind || ' ' || key) WITH =)
);

CREATE TABLE doorkeeper.log (
    revision         bigint           NOT NULL,
    item             integer          NOT NULL,
    kind             text COLLATE "C" NOT NULL,
    key              text COLLATE "C" NOT NULL,
    value            text,
    secret           text,
    deleted          boolean          NOT NULL,
    time_ms          bigint           NOT NULL
        DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    author_principal text             NOT NULL,
    author_host      text             NOT NULL,
    author_listener  text             NOT NULL,
    author_client_id text             NOT NULL,
    author_software  text             NOT NULL DEFAULT '',
    author_correlation_id integer,
    hash             text,
    node_id          integer,
    batch            uuid,
    PRIMARY KEY (revision, item)
);

CREATE TABLE doorkeeper.base (
    kind     text COLLATE "C" NOT NULL,
    key      text COLLATE "C" NOT NULL,
    value    text             NOT NULL,
    revision bigint           NOT NULL,
    EXCLUDE USING hash ((kind || ' ' || key) WITH =)
);
"""

# Not to_regclass: it may use a cached answer from before the creation.
_HAS_META: Final = (
    "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_tables"
    " WHERE schemaname = 'doorkeeper' AND tablename = 'meta')"
)


_LOCK: Final = 0x446F6F72
"""``Door``: the key of the advisory lock for the creation."""

_INITIAL_ITEM: Final = """
WITH initial AS (
    INSERT INTO doorkeeper.item VALUES ($1, $2, $3, $4, 0) RETURNING kind, key, value, revision
) INSERT INTO doorkeeper.base SELECT * FROM initial
"""

_HAS_SCHEMA: Final = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1)"


async def prepare(
    connection: asyncpg.Connection,
    random_bytes: Callable[[int], bytes],
    initial: Change = NO_CHANGE,
    *,
    create: bool = True,
) -> bool:
    """Create the tables in an empty database if allowed, or check the existing ones.

    Return whether they were created: in one transaction, for which concurrent calls wait. A new
    store gets a cluster id, a store id, a salt key, and ``initial``, rows of revision 0.
    """
    if await has_store(connection):
        return False
    if not create:
        raise StorageError(
            "found no store in this database; create it with doorkeeper store create"
        )
    async with connection.transaction():
        # Released at the end of the transaction.
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        if await has_store(connection):
            return False
        if not await connection.fetchval(_HAS_SCHEMA, SCHEMA):
            await connection.execute(f"CREATE SCHEMA {SCHEMA}")
        await connection.execute(TABLES + TRIGGERS)
        await set_identity(connection, new_identity(random_bytes))
        await set_meta(connection, "created_by", __version__)
        # Not through the log: the first change of a client is revision 1.
        for kind, key, value, secret in initial_items(initial):
            await connection.execute(_INITIAL_ITEM, kind, encode(key), value, secret)
        await digest.write_anew(connection)
    return True


async def has_store(connection: asyncpg.Connection) -> bool:
    """Return whether a database has a store; reject one that this code cannot read and write."""
    encoding = connection.get_settings().server_encoding
    if encoding != ENCODING:
        raise StorageError(f"found the encoding {encoding}; the database must use {ENCODING}")
    if not await connection.fetchval(_HAS_META):
        return False
    values = await meta(connection)
    with _damage():
        version = int(values["schema_version"])
        needed = max(int(values["min_reader"]), int(values["min_writer"]))
    if needed > VERSION:
        raise StorageError(
            f"the store has schema version {version}, which requires a Doorkeeper with"
            f" schema version {needed} or later; {__version__} supports {VERSION}"
        )
    return True


@contextmanager
def _damage() -> Iterator[None]:
    """Report a value of ``meta`` that is missing or wrong."""
    try:
        yield
    except (KeyError, ValueError) as error:
        raise StorageError(f"the store is damaged: meta has no {error}") from error


async def meta(connection: asyncpg.Connection) -> dict[str, str]:
    """Return all values of ``meta``, with the secret ``salt_key``."""
    return dict(await connection.fetch("SELECT key, value FROM doorkeeper.meta"))


async def identity(connection: asyncpg.Connection) -> StoreIdentity:
    values = await meta(connection)
    with _damage():
        cluster_id, store_id, salt_key = (values[key] for key in StoreIdentity._fields)
    try:
        return StoreIdentity(cluster_id, store_id, bytes.fromhex(salt_key))
    except ValueError:
        # Without its cause, which quotes parts of the key.
        raise StorageError("the store is damaged: its salt_key is not hexadecimal") from None


async def set_identity(connection: asyncpg.Connection, identity: StoreIdentity) -> None:
    await set_meta(connection, "cluster_id", identity.cluster_id)
    await set_meta(connection, "store_id", identity.store_id)
    await set_meta(connection, "salt_key", identity.salt_key.hex())


async def check_identity(connection: asyncpg.Connection, expected: StoreIdentity) -> None:
    """Reject a database that is not the expected one.

    Raises:
        StoreReplaced: it has no store, or another one.
        StorageError: its schema does not fit.
    """
    if not await has_store(connection):
        raise StoreReplaced("found no store in this database")
    actual = await identity(connection)
    if actual[:2] != expected[:2]:
        store_id, cluster_id, *_ = expected
        raise StoreReplaced(
            f"found store {actual.store_id} of cluster {actual.cluster_id}; expected: store"
            f" {store_id} of cluster {cluster_id}"
        )


async def base(connection: asyncpg.Connection) -> Base:
    """Return the revision after which the table ``base`` is the state, its hash and its time."""
    values = await meta(connection)
    with _damage():
        revision, hash_, time_ms = (values[key] for key in BASE_KEYS)
        return Base(int(revision), hash_, int(time_ms))


async def set_meta(connection: asyncpg.Connection, key: str, value: str) -> None:
    await connection.execute(
        "INSERT INTO doorkeeper.meta VALUES ($1, $2)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        key,
        value,
    )
