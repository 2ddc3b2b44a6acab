"""Triggers of the log: the duties of all nodes, whatever their version.

carry   after an insertion: the rows become items, with the digest of all items, see
        ``storage.digest``; the digest of a row are 124 bits of a SHA-256
chain   after an insertion: each revision gets its hash, see ``storage.rows``
fold    after a deletion: what is pruned is folded into ``base``, see ``storage.upkeep``
"""

from __future__ import annotations

from typing import Final

_ROW_HASH: Final = "doorkeeper.row_hash(item.kind, item.key, item.value, item.secret)"
_SUM_OF_HASHES: Final = f"""coalesce(
        sum(('x' || left(hash, 16))::bit(64)::bigint) * {1 << 60}::numeric
        + sum(('x' || substr(hash, 17, 15))::bit(60)::bigint), 0)"""
"""The sum of the first 124 bits of the hashes of rows; the first 64 are signed."""

_MODULUS: Final = 1 << 124

# A single expression, so that the planner puts it in the place of the call: a call of a function in
# SQL costs several times as much as the hash. OFFSET 0 makes it compute each hash once.
_DIGEST: Final = f"""
CREATE FUNCTION doorkeeper.row_hash(kind text, key text, value text, secret text)
RETURNS text LANGUAGE sql STABLE AS $$
    SELECT encode(sha256(convert_to(
        kind || ' ' || length(key)::text || ':' || key || value || coalesce(' ' || secret, ''),
        'UTF8')), 'hex')
$$;

CREATE FUNCTION doorkeeper.modulo(digest numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT mod(mod(digest, {_MODULUS}) + {_MODULUS}, {_MODULUS})
$$;

CREATE FUNCTION doorkeeper.digest() RETURNS numeric LANGUAGE sql STABLE AS $$
    SELECT doorkeeper.modulo({_SUM_OF_HASHES})
    FROM (SELECT {_ROW_HASH} AS hash FROM doorkeeper.item OFFSET 0) AS hashes
$$;
"""

# A session plans the statements of a trigger once, for the number of rows of its first call:
# nested loops are acceptable for every number. Disabled plan types count as very expensive, and
# expensive statements would be compiled, so JIT is off too.
_CARRY: Final = f"""
CREATE FUNCTION doorkeeper.carry() RETURNS trigger LANGUAGE plpgsql
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
        RETURNING earliest.deleted, {_ROW_HASH} AS hash
    )
    SELECT (SELECT count(*) FROM earliest WHERE deleted)
           - (SELECT count(*) FROM removed WHERE deleted),
           (SELECT {_SUM_OF_HASHES} FROM removed)
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
        RETURNING {_ROW_HASH} AS hash
    )
    SELECT {_SUM_OF_HASHES} INTO added FROM inserted;

    UPDATE doorkeeper.head SET revision = newest, digest = doorkeeper.modulo(digest + added - gone);

    IF secrets THEN
        UPDATE doorkeeper.log SET secret = NULL
        WHERE revision BETWEEN oldest AND newest AND secret IS NOT NULL;
    END IF;

    PERFORM pg_notify('doorkeeper', newest::text);
    RETURN NULL;
END
$$;

CREATE TRIGGER carry AFTER INSERT ON doorkeeper.log
REFERENCING NEW TABLE AS written
FOR EACH STATEMENT EXECUTE FUNCTION doorkeeper.carry();
"""

# ``length`` counts characters, as Python does. The time is that of the first row: each row has one.
_CHAIN: Final = """
CREATE FUNCTION doorkeeper.cell(cell text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(length(cell) || ':' || cell, '-')
$$;

CREATE FUNCTION doorkeeper.chain() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog SET jit = off
AS $$
DECLARE
    last_hash text := coalesce((
        SELECT hash FROM doorkeeper.log
        WHERE item = 0 AND revision = (SELECT min(revision) FROM written) - 1), '');
    one       record;
BEGIN
    FOR one IN
        SELECT revision, string_agg(
            CASE item WHEN 0 THEN
                doorkeeper.cell(revision::text) || doorkeeper.cell(time_ms::text)
                || doorkeeper.cell(author_principal) || doorkeeper.cell(author_host)
                || doorkeeper.cell(author_listener) || doorkeeper.cell(author_client_id)
                || doorkeeper.cell(author_software)
                || doorkeeper.cell(author_correlation_id::text)
            ELSE '' END
            || doorkeeper.cell(kind) || doorkeeper.cell(key) || doorkeeper.cell(value)
            || '1:' || deleted::integer, '' ORDER BY item) AS cells
        FROM written GROUP BY revision ORDER BY revision
    LOOP
        last_hash := encode(sha256(convert_to(last_hash || one.cells, 'UTF8')), 'hex');
        UPDATE doorkeeper.log SET hash = last_hash WHERE revision = one.revision AND item = 0;
    END LOOP;
    RETURN NULL;
END
$$;

CREATE TRIGGER chain AFTER INSERT ON doorkeeper.log
REFERENCING NEW TABLE AS written
FOR EACH STATEMENT EXECUTE FUNCTION doorkeeper.chain();
"""

_FOLD: Final = """
CREATE FUNCTION doorkeeper.fold() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog SET jit = off
AS $$
DECLARE
    before bigint := (SELECT value::bigint FROM doorkeeper.meta WHERE key = 'base_revision');
    until  bigint := (SELECT max(revision) FROM gone);
BEGIN
    IF until IS NULL OR until <= before THEN
        RETURN NULL;
    END IF;

    DELETE FROM doorkeeper.base WHERE kind || ' ' || key IN (
        SELECT kind || ' ' || key FROM gone WHERE revision > before
    );
    INSERT INTO doorkeeper.base (kind, key, value, revision)
    SELECT kind, key, value, revision FROM (
        SELECT DISTINCT ON (kind, key) * FROM gone WHERE revision > before
        ORDER BY kind, key, revision DESC, item DESC
    ) AS latest WHERE NOT deleted;

    UPDATE doorkeeper.meta SET value = CASE meta.key
        WHEN 'base_revision' THEN until::text
        WHEN 'base_hash' THEN coalesce(gone.hash, '')
        ELSE gone.time_ms::text END
    FROM gone
    WHERE gone.revision = until AND gone.item = 0
      AND meta.key IN ('base_revision', 'base_hash', 'base_ms');
    RETURN NULL;
END
$$;

CREATE TRIGGER fold AFTER DELETE ON doorkeeper.log
REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION doorkeeper.fold();
"""

TRIGGERS: Final = _DIGEST + _CARRY + _CHAIN + _FOLD
