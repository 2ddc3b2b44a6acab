"""Schema version 3: clients in the log, the hash chain, and the base of the history.

Nodes of version 2 use these tables as they are. They write the log without the new columns, which
have defaults, and prune it. So the duties of all nodes are those of triggers:

 chain   after an insertion: each revision gets its hash, see ``storage.rows``
 fold    after a deletion: what is pruned is folded into ``base``, see ``storage.base``
"""

from __future__ import annotations

from typing import Final

from doorkeeper.kinds.declared import FEATURE

_TABLES: Final = """
ALTER TABLE doorkeeper.log
    ADD COLUMN author_software text NOT NULL DEFAULT '',
    ADD COLUMN author_correlation_id integer,
    ADD COLUMN hash text;

CREATE TABLE doorkeeper.base (
    kind     text COLLATE "C" NOT NULL,
    key      text COLLATE "C" NOT NULL,
    value    text             NOT NULL,
    revision bigint           NOT NULL,
    EXCLUDE USING hash ((kind || ' ' || key) WITH =)
);
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

# The state is exact from the beginning if the log has everything, else from now on. Initial rows
# that were replaced are unknown; they were features.
_BASE: Final = f"""
DO $$
DECLARE
    newest   bigint := (SELECT revision FROM doorkeeper.head);
    is_exact boolean := coalesce((SELECT min(revision) FROM doorkeeper.log), 1) = 1
        AND NOT EXISTS (SELECT FROM doorkeeper.log WHERE value IS NULL OR kind = '{FEATURE.name}');
    base_ms  bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
BEGIN
    IF is_exact THEN
        base_ms := coalesce((SELECT min(time_ms) FROM doorkeeper.log WHERE revision = 1), base_ms);
        newest := 0;
    END IF;
    INSERT INTO doorkeeper.base (kind, key, value, revision)
    SELECT kind, key, value, revision FROM doorkeeper.item WHERE NOT is_exact OR revision = 0;
    INSERT INTO doorkeeper.meta VALUES
        ('base_revision', newest::text), ('base_hash', ''), ('base_ms', base_ms::text);
END
$$;
"""  # noqa: S608 - ours

# A server's role that is not the owner gets the rights that it has on the log.
_RIGHTS: Final = """
DO $$
DECLARE
    held record;
BEGIN
    FOR held IN
        SELECT privilege_type AS what,
               CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
               AS role
        FROM pg_class, aclexplode(relacl)
        WHERE pg_class.oid = 'doorkeeper.log'::regclass AND grantee <> relowner
          AND privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
    LOOP
        EXECUTE format('GRANT %s ON doorkeeper.base TO %s', held.what, held.role);
    END LOOP;
END
$$;
"""

# Nodes of version 1 delete row by row, in any order, which ``fold`` cannot follow. Those of later
# versions prune.
_VERSION_1: Final = """
DO $$
BEGIN
    IF to_regprocedure('doorkeeper.version_1_prune()') IS NOT NULL THEN
        CREATE OR REPLACE FUNCTION doorkeeper.version_1_prune() RETURNS trigger LANGUAGE plpgsql
        AS $keep$ BEGIN RETURN NULL; END $keep$;
    END IF;
END
$$;
"""

EXPAND: Final = (
    "LOCK TABLE doorkeeper.head IN EXCLUSIVE MODE;\n"
    + _TABLES
    + _BASE
    + _CHAIN
    + _FOLD
    + _RIGHTS
    + _VERSION_1
)
"""From version 2 to version 3, under running nodes of version 2."""
