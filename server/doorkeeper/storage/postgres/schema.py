"""The tables of the shared store, and the versions of Doorkeeper that may use them.

All are in the database schema ``doorkeeper``. A server writes only the table ``log``: a statement
trigger applies its rows to ``item``, advances ``head``, empties secrets in the log and notifies the
other nodes. It rejects revisions that do not follow the head, so there is no gap, with or without
the lock. The layout is the same for all kinds: a new kind needs no migration.

 head   one row: the newest revision, and the digest of the items: see ``digest``. A writer locks
        it: ``SELECT ... FOR UPDATE``
 log    one row for each set or deleted row of a revision. ``batch`` is the random id of its
        commit, by which a writer recognises a commit whose response was lost. Times are
        the database's. A deletion has the previous value; null where version 1 did not
        keep it
 item   the rows of all kinds at the head; those that a store is created with are of revision 0,
        and not in the log
 node   one row for each registered node: see ``membership``
 base   the rows of all kinds, without secrets, after the revision ``base_revision``: see
        ``history``
 meta   cluster_id, store_id, salt_key, schema_version, min_reader, min_writer, created_by; and of
        the base: base_revision, base_hash, base_ms

Two successive versions of Doorkeeper can share one schema. A migration first adds only what the
newer version needs (*expand*). ``store migrate --finish`` removes what only the older one needs,
and raises ``min_reader`` and ``min_writer`` (*contract*).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.state.store import StorageError, StoreIdentity, StoreReplaced
from doorkeeper.storage.portable import BASE_KEYS, Base
from doorkeeper.version import __version__

if TYPE_CHECKING:
    import asyncpg

SCHEMA: Final = "doorkeeper"

CHANNEL: Final = "doorkeeper"
"""The trigger notifies this channel; the payload is the newest revision."""

ENCODING: Final = "UTF8"
"""Other encodings cannot store all names that clients may choose."""

VERSION: Final = 4

OLDEST_USER: Final = 2
"""The schema version of the oldest nodes that can use tables of ``VERSION``."""

BASE: Final = """
CREATE TABLE doorkeeper.meta (
    key   text PRIMARY KEY,
    value text NOT NULL
);

CREATE TABLE doorkeeper.head (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    revision bigint  NOT NULL
);
INSERT INTO doorkeeper.head (revision) VALUES (0);

CREATE TABLE doorkeeper.node (
    node_id    integer     PRIMARY KEY,
    run        uuid        NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    leaves_at  timestamptz NOT NULL,
    about      text        NOT NULL
);

INSERT INTO doorkeeper.meta VALUES
    ('schema_version', '2'), ('min_reader', '2'), ('min_writer', '2');
"""

# A hash instead of a btree: a key may be longer than the entries of a btree allow.
ITEMS_AND_LOG: Final = """
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
    node_id          integer,
    batch            uuid,
    PRIMARY KEY (revision, item)
);
"""

# A session plans the statements of a trigger once, for the number of rows of its first call:
# nested loops are acceptable for every number. Disabled plan types count as very expensive, and
# expensive statements would be compiled, so JIT is off too.
_CARRY: Final = """
CREATE OR REPLACE FUNCTION doorkeeper.carry() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off
AS $$
DECLARE
    oldest  bigint;
    newest  bigint;
    number  bigint;
    secrets boolean;
    missing bigint;
    gone    numeric;
    added   numeric;
BEGIN
    SELECT min(revision), max(revision), count(DISTINCT revision), bool_or(secret IS NOT NULL)
    INTO oldest, newest, number, secrets
    FROM written;
    IF oldest IS NULL THEN
        RETURN NULL;
    END IF;

    PERFORM FROM doorkeeper.head WHERE revision = oldest - 1 FOR UPDATE;
    IF NOT FOUND OR number <> newest - oldest + 1 THEN
        RAISE EXCEPTION 'revisions % to % leave a gap', oldest, newest
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;

    WITH earliest AS MATERIALIZED (
        SELECT DISTINCT ON (kind, key) kind || ' ' || key AS name, deleted
        FROM written ORDER BY kind, key, revision, item
    ), removed AS (
        DELETE FROM doorkeeper.item USING earliest
        WHERE item.kind || ' ' || item.key = earliest.name
        RETURNING earliest.deleted, {row_hash} AS hash
    )
    SELECT (SELECT count(*) FROM earliest WHERE deleted)
           - (SELECT count(*) FROM removed WHERE deleted),
           (SELECT {sum} FROM removed)
    INTO missing, gone;
    IF missing <> 0 THEN
        RAISE EXCEPTION 'a row to delete is not in the store'
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;

    WITH inserted AS (
        INSERT INTO doorkeeper.item (kind, key, value, secret, revision)
        SELECT kind, key, value, secret, revision FROM (
            SELECT DISTINCT ON (kind, key) * FROM written
            ORDER BY kind, key, revision DESC, item DESC
        ) AS latest WHERE NOT deleted
        RETURNING {row_hash} AS hash
    )
    SELECT {sum} INTO added FROM inserted;

    UPDATE doorkeeper.head SET revision = newest{set_digest};

    IF secrets THEN
        UPDATE doorkeeper.log SET secret = NULL
        WHERE revision BETWEEN oldest AND newest AND secret IS NOT NULL;
    END IF;

    PERFORM pg_notify('doorkeeper', newest::text);
    RETURN NULL;
END
$$;
"""


ROW_HASH: Final = "doorkeeper.row_hash(item.kind, item.key, item.value, item.secret)"
SUM_OF_HASHES: Final = f"""coalesce(
        sum(('x' || left(hash, 16))::bit(64)::bigint) * {1 << 60}::numeric
        + sum(('x' || substr(hash, 17, 15))::bit(60)::bigint), 0)"""
"""The sum of the first 124 bits of the hashes of rows; the first 64 are signed."""


def carry(*, digest: bool) -> str:
    """Return the function of the trigger; schema version 4 added the digest."""
    texts = {
        "{row_hash}": ROW_HASH if digest else "0",
        "{sum}": SUM_OF_HASHES if digest else "0",
        "{set_digest}": ", digest = doorkeeper.modulo(digest + added - gone)" if digest else "",
    }
    function = _CARRY
    for name, text in texts.items():
        function = function.replace(name, text)
    return function


TRIGGER: Final = (
    carry(digest=False)
    + """
CREATE TRIGGER carry AFTER INSERT ON doorkeeper.log
REFERENCING NEW TABLE AS written
FOR EACH STATEMENT EXECUTE FUNCTION doorkeeper.carry();
"""
)

TABLES_2: Final = BASE + ITEMS_AND_LOG + TRIGGER
"""A new store of schema version 2, without its identity; see ``migrating.STEPS``."""

# Not to_regclass: it may use a cached answer from before the creation.
_HAS_META: Final = (
    "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_tables"
    " WHERE schemaname = 'doorkeeper' AND tablename = 'meta')"
)


class SchemaState(NamedTuple):
    """The versions in ``meta``."""

    version: int
    min_reader: int
    min_writer: int


async def schema_state(connection: asyncpg.Connection) -> SchemaState | None:
    """Return the schema of a database; None if it has no store.

    Raises:
        StorageError: the schema is not as Doorkeeper creates it, or the database cannot store all
            names that clients may choose.

    """
    encoding = connection.get_settings().server_encoding
    if encoding != ENCODING:
        raise StorageError(f"the database has the encoding {encoding}; allowed: {ENCODING}")
    if not await connection.fetchval(_HAS_META):
        return None
    values = await meta(connection)
    try:
        return SchemaState(
            int(values["schema_version"]), int(values["min_reader"]), int(values["min_writer"])
        )
    except (KeyError, ValueError) as error:
        raise StorageError(f"the store is damaged: meta has no {error}") from error


def check_usable(state: SchemaState, *, version: int = VERSION) -> None:
    """Reject a schema that this code cannot read and write.

    Raises:
        StorageError: it must be migrated first, or is from a version that is too new.

    """
    if state.version < version:
        raise StorageError(
            f"the store has schema version {state.version}; Doorkeeper {__version__} needs"
            f" {version}: run doorkeeper store migrate"
        )
    if max(state.min_reader, state.min_writer) > version:
        raise StorageError(
            f"the store has schema version {state.version}, which asks for a Doorkeeper of schema"
            f" version {max(state.min_reader, state.min_writer)} or later; {__version__} knows"
            f" {version}"
        )


async def meta(connection: asyncpg.Connection) -> dict[str, str]:
    """Return all values of ``meta``, with the secret ``salt_key``."""
    return dict(await connection.fetch("SELECT key, value FROM doorkeeper.meta"))


async def identity(connection: asyncpg.Connection) -> StoreIdentity:
    """Return the identity of a store.

    Raises:
        StorageError: ``meta`` lacks a part of it.

    """
    values = await meta(connection)
    try:
        return StoreIdentity(
            values["cluster_id"], values["store_id"], bytes.fromhex(values["salt_key"])
        )
    except KeyError as error:
        raise StorageError(f"the store is damaged: meta has no {error}") from error
    except ValueError:
        # Without its cause, which quotes parts of the key.
        raise StorageError("the store is damaged: its salt_key is not hexadecimal") from None


async def check_identity(connection: asyncpg.Connection, expected: StoreIdentity) -> None:
    """Reject a database that is not the expected one.

    Raises:
        StoreReplaced: it has no store, or another one.
        StorageError: its schema does not fit.

    """
    state = await schema_state(connection)
    if state is None:
        raise StoreReplaced("no store is in this database")
    check_usable(state)
    found = await identity(connection)
    if found[:2] != expected[:2]:
        raise StoreReplaced(f"this is store {found.store_id} of cluster {found.cluster_id}")


async def base(connection: asyncpg.Connection) -> Base:
    """Return the revision after which the table ``base`` is the state, its hash and its time.

    Raises:
        StorageError: ``meta`` lacks a part of it.

    """
    values = await meta(connection)
    try:
        revision, hash_, time_ms = (values[key] for key in BASE_KEYS)
        return Base(int(revision), hash_, int(time_ms))
    except (KeyError, ValueError) as error:
        raise StorageError(f"the store is damaged: meta has no {error}") from error


async def set_meta(connection: asyncpg.Connection, key: str, value: str) -> None:
    await connection.execute(
        "INSERT INTO doorkeeper.meta VALUES ($1, $2)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        key,
        value,
    )
