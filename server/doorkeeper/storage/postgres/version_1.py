"""Compatibility with nodes of schema version 1 on a database of version 2.

Version 1 had a table for each kind, and a log with a column for each cell. The migration moves all
rows into ``item`` and ``log`` and replaces the old tables by views, which nodes of version 1 read.
Their inserts into the view ``change_log`` are translated row by row into ``version_1_row``, and
then written to ``log`` in one statement, as by a node of version 2. Kinds that version 1 did not
have are in no view: its nodes see a gap in the revisions, and reload everything.

Texts differ in one point. Version 1 escaped U+0000 (see ``cells``) in every cell, also in those
that are now inside a JSON array. ``version_1_cells`` returns a JSON text as jsonb of escaped cells,
which PostgreSQL can read; ``version_1_json`` returns the JSON text of such cells, with its second
argument for U+FDD0.
"""

# ruff: noqa: S608 - all that is put together is ours

from __future__ import annotations

from typing import Final

from doorkeeper.storage.cells import MARK
from doorkeeper.storage.postgres.schema import ITEMS_AND_LOG, TRIGGER

_ONE: Final = f"'{MARK}'"
_TWO: Final = f"'{MARK}{MARK}'"

_TEXTS: Final = f"""
CREATE FUNCTION doorkeeper.version_1_cells(json text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN strpos(json, chr(92) || 'u0000') = 0 THEN json ELSE
        regexp_replace(json, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', '\\1{MARK}0', 'g')
    END::jsonb
$$;

CREATE FUNCTION doorkeeper.version_1_json(cells jsonb, mark text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT replace(replace(replace(
        cells::text, {_TWO}, chr(1)), '{MARK}0', chr(92) || 'u0000'), chr(1), mark)
$$;

CREATE FUNCTION doorkeeper.version_1_base64(octets bytea) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT replace(encode(octets, 'base64'), chr(10), '')
$$;
"""

_CELLS: Final = f"doorkeeper.version_1_cells(replace(value, {_ONE}, {_TWO})) AS cells"
_KEYS: Final = "doorkeeper.version_1_cells(key) AS keys"

_TOPIC: Final = f"""doorkeeper.version_1_json(jsonb_build_object(
        'topic_id', translate(rtrim(cells ->> 0, '='), '+/', '-_'), 'partitions', cells -> 1,
        'replication_factor', cells -> 2, 'configs', cells -> 3), {_TWO})"""
_TOKEN: Final = f"""doorkeeper.version_1_json(jsonb_build_object(
        'owner', cells -> 0, 'requester', cells -> 1, 'renewers', cells -> 2,
        'issue_ms', cells -> 3, 'expiry_ms', cells -> 4, 'max_ms', cells -> 5,
        'fingerprint', encode(decode(cells ->> 6, 'base64'), 'hex')), {_TWO})"""

_VIEWS: Final = f"""
CREATE VIEW doorkeeper.acl AS
SELECT key AS binding_id, (cells ->> 0)::smallint AS resource_type, cells ->> 1 AS name,
       (cells ->> 2)::smallint AS pattern_type, cells ->> 3 AS principal, cells ->> 4 AS host,
       (cells ->> 5)::smallint AS operation, (cells ->> 6)::smallint AS permission_type, revision
FROM doorkeeper.item, {_CELLS} WHERE kind = 'acl';

CREATE VIEW doorkeeper.topic AS
SELECT key AS name, {_TOPIC} AS topic, revision
FROM doorkeeper.item, {_CELLS} WHERE kind = 'topic';

CREATE VIEW doorkeeper.config AS
SELECT keys ->> 0 AS broker, keys ->> 1 AS key, cells ->> 0 AS value, revision
FROM doorkeeper.item, {_CELLS}, {_KEYS} WHERE kind = 'config';

CREATE VIEW doorkeeper.credential AS
SELECT keys ->> 0 AS user_name, keys ->> 1 AS mechanism,
       decode(secret::jsonb ->> 0, 'base64') AS salt,
       decode(secret::jsonb ->> 1, 'base64') AS stored_key,
       decode(secret::jsonb ->> 2, 'base64') AS server_key,
       (cells ->> 3)::integer AS iterations, revision
FROM doorkeeper.item, {_CELLS}, {_KEYS} WHERE kind = 'credential';

CREATE VIEW doorkeeper.token AS
SELECT key AS token_id, {_TOKEN} AS token, revision
FROM doorkeeper.item, {_CELLS} WHERE kind = 'token';

CREATE INDEX version_1 ON doorkeeper.item (kind) WHERE kind <> 'acl';
"""

# The log does not say whether a topic that is set is a new one. Version 1 takes a set topic as
# altered (5) whether it has it or not.
_LOG_VIEW: Final = f"""
CREATE VIEW doorkeeper.change_log AS
SELECT revision, item,
       CASE kind WHEN 'acl' THEN 1 WHEN 'topic' THEN CASE WHEN deleted THEN 3 ELSE 5 END
           WHEN 'config' THEN 6 WHEN 'credential' THEN 8 ELSE 10
       END::smallint + deleted::integer::smallint AS kind,
       time_ms, author_principal, author_host, author_listener, author_client_id,
       CASE kind WHEN 'acl' THEN key END AS binding_id,
       CASE kind WHEN 'acl' THEN (cells ->> 0)::smallint END AS resource_type,
       CASE WHEN kind = 'acl' THEN cells ->> 1 WHEN kind IN ('config', 'credential')
           THEN doorkeeper.version_1_cells(key) ->> 0 ELSE key END AS name,
       CASE kind WHEN 'acl' THEN (cells ->> 2)::smallint END AS pattern_type,
       CASE kind WHEN 'acl' THEN cells ->> 3 END AS principal,
       CASE kind WHEN 'acl' THEN cells ->> 4 END AS host,
       CASE kind WHEN 'acl' THEN (cells ->> 5)::smallint END AS operation,
       CASE kind WHEN 'acl' THEN (cells ->> 6)::smallint END AS permission_type,
       CASE WHEN kind = 'topic' AND NOT deleted THEN {_TOPIC} END AS topic,
       CASE kind WHEN 'config' THEN doorkeeper.version_1_cells(key) ->> 1 END AS config_key,
       CASE WHEN kind = 'config' AND NOT deleted THEN cells ->> 0 END AS config_value,
       CASE kind WHEN 'credential' THEN doorkeeper.version_1_cells(key) ->> 1 END AS mechanism,
       CASE WHEN kind = 'token' AND NOT deleted THEN {_TOKEN} END AS record,
       node_id, batch
FROM doorkeeper.log, {_CELLS}
WHERE kind IN ('acl', 'topic', 'config', 'credential', 'token');
"""

_TRANSLATE: Final = f"""
CREATE TABLE doorkeeper.version_1_row (LIKE doorkeeper.log);
CREATE INDEX ON doorkeeper.version_1_row USING hash ((kind || ' ' || key));

CREATE FUNCTION doorkeeper.version_1_translate() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $$
DECLARE
    the_kind text := (ARRAY['acl', 'acl', 'topic', 'topic', 'topic', 'config', 'config',
                            'credential', 'credential', 'token', 'token'])[NEW.kind];
    gone     boolean := NEW.kind IN (2, 4, 7, 9, 11);
    json     jsonb := doorkeeper.version_1_cells(coalesce(NEW.topic, NEW.record));
    keys     jsonb;
    the_key  text := CASE the_kind WHEN 'acl' THEN NEW.binding_id ELSE NEW.name END;
    cells    jsonb;
    secrets  jsonb;
    text_    text;
BEGIN
    IF the_kind IN ('config', 'credential') THEN
        -- As Python's encoder writes it: without a space behind the comma.
        the_key := doorkeeper.version_1_json(to_jsonb(NEW.name), {_TWO}) || ','
            || doorkeeper.version_1_json(
                to_jsonb(coalesce(NEW.config_key, NEW.mechanism)), {_TWO});
        the_key := '[' || the_key || ']';
    END IF;
    IF the_kind = 'acl' THEN
        cells := jsonb_build_array(NEW.resource_type, NEW.name, NEW.pattern_type,
            NEW.principal, NEW.host, NEW.operation, NEW.permission_type);
    ELSIF gone THEN
        SELECT value INTO text_ FROM doorkeeper.version_1_row AS earlier
        WHERE earlier.kind || ' ' || earlier.key = the_kind || ' ' || the_key
        ORDER BY revision DESC, item DESC LIMIT 1;
        IF NOT FOUND THEN
            SELECT value INTO text_ FROM doorkeeper.item
            WHERE item.kind || ' ' || item.key = the_kind || ' ' || the_key;
        END IF;
    ELSIF the_kind = 'topic' THEN
        cells := jsonb_build_array(translate(json ->> 'topic_id', '-_', '+/') || '==',
            json -> 'partitions', json -> 'replication_factor', json -> 'configs');
    ELSIF the_kind = 'config' THEN
        cells := jsonb_build_array(NEW.config_value);
    ELSIF the_kind = 'credential' THEN
        -- The log of version 1 has forgotten how many iterations there were.
        cells := jsonb_build_array(NULL, NULL, NULL, coalesce(json -> 'iterations', '0'));
        IF json IS NOT NULL THEN
            secrets := jsonb_build_array(
                doorkeeper.version_1_base64(decode(json ->> 'salt', 'hex')),
                doorkeeper.version_1_base64(decode(json ->> 'stored_key', 'hex')),
                doorkeeper.version_1_base64(decode(json ->> 'server_key', 'hex')));
        END IF;
    ELSE
        cells := jsonb_build_array(json -> 'owner', json -> 'requester', json -> 'renewers',
            json -> 'issue_ms', json -> 'expiry_ms', json -> 'max_ms',
            doorkeeper.version_1_base64(decode(json ->> 'fingerprint', 'hex')));
    END IF;
    INSERT INTO doorkeeper.version_1_row VALUES (
        NEW.revision, NEW.item, the_kind, the_key,
        coalesce(doorkeeper.version_1_json(cells, {_ONE}), text_), secrets::text, gone,
        coalesce(NEW.time_ms, (extract(epoch FROM clock_timestamp()) * 1000)::bigint),
        NEW.author_principal, NEW.author_host, NEW.author_listener, NEW.author_client_id,
        NEW.node_id, NEW.batch);
    RETURN NEW;
END
$$;

CREATE TRIGGER version_1_translate INSTEAD OF INSERT ON doorkeeper.change_log
FOR EACH ROW EXECUTE FUNCTION doorkeeper.version_1_translate();
"""

_WRITE: Final = """
CREATE FUNCTION doorkeeper.version_1_write() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $$
BEGIN
    INSERT INTO doorkeeper.log SELECT * FROM doorkeeper.version_1_row;
    DELETE FROM doorkeeper.version_1_row;
    RETURN NULL;
END
$$;

CREATE TRIGGER version_1_write AFTER INSERT ON doorkeeper.change_log
FOR EACH STATEMENT EXECUTE FUNCTION doorkeeper.version_1_write();

CREATE FUNCTION doorkeeper.version_1_prune() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $$
BEGIN
    DELETE FROM doorkeeper.log WHERE revision = OLD.revision AND item = OLD.item;
    RETURN OLD;
END
$$;

CREATE TRIGGER version_1_prune INSTEAD OF DELETE ON doorkeeper.change_log
FOR EACH ROW EXECUTE FUNCTION doorkeeper.version_1_prune();
"""

_NAMES: Final = ("acl", "topic", "config", "credential", "token", "change_log")

_RENAME: Final = """
LOCK TABLE doorkeeper.head IN EXCLUSIVE MODE;
""" + "".join(f"ALTER TABLE doorkeeper.{name} RENAME TO version_1_{name};\n" for name in _NAMES)

_AUTHOR: Final = "author_principal, author_host, author_listener, author_client_id"
_NOBODY: Final = "'', '', '', ''"

# The state is translated as if a log without a past had written it.
_MOVE: Final = f"""
INSERT INTO doorkeeper.change_log (revision, item, kind, {_AUTHOR}, binding_id,
    resource_type, name, pattern_type, principal, host, operation, permission_type)
SELECT revision, 0, 1, {_NOBODY}, binding_id,
    resource_type, name, pattern_type, principal, host, operation, permission_type
FROM doorkeeper.version_1_acl;
INSERT INTO doorkeeper.change_log (revision, item, kind, {_AUTHOR}, name, topic)
SELECT revision, 0, 3, {_NOBODY}, name, topic FROM doorkeeper.version_1_topic;
INSERT INTO doorkeeper.change_log (revision, item, kind, {_AUTHOR}, name, config_key, config_value)
SELECT revision, 0, 6, {_NOBODY}, broker, key, value FROM doorkeeper.version_1_config;
INSERT INTO doorkeeper.change_log (revision, item, kind, {_AUTHOR}, name, mechanism, record)
SELECT revision, 0, 8, {_NOBODY}, user_name, mechanism, json_build_object(
    'salt', encode(salt, 'hex'), 'stored_key', encode(stored_key, 'hex'),
    'server_key', encode(server_key, 'hex'), 'iterations', iterations)::text
FROM doorkeeper.version_1_credential;
INSERT INTO doorkeeper.change_log (revision, item, kind, {_AUTHOR}, name, record)
SELECT revision, 0, 10, {_NOBODY}, token_id, token FROM doorkeeper.version_1_token;

INSERT INTO doorkeeper.item (kind, key, value, secret, revision)
SELECT kind, key, value, secret, revision FROM doorkeeper.version_1_row;
TRUNCATE doorkeeper.version_1_row;

INSERT INTO doorkeeper.change_log
SELECT * FROM doorkeeper.version_1_change_log ORDER BY revision, item;
INSERT INTO doorkeeper.log SELECT * FROM doorkeeper.version_1_row;
TRUNCATE doorkeeper.version_1_row;
"""

# A server's role that is not the owner keeps its rights.
_END: Final = (
    """
DO $$
DECLARE
    held record;
BEGIN
    FOR held IN
        SELECT privilege_type AS what,
               CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
               AS role
        FROM pg_class, aclexplode(relacl)
        WHERE pg_class.oid = 'doorkeeper.version_1_change_log'::regclass AND grantee <> relowner
          AND privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
    LOOP
        EXECUTE format('GRANT %s ON ALL TABLES IN SCHEMA doorkeeper TO %s', held.what, held.role);
    END LOOP;
END
$$;
"""
    + "".join(f"DROP TABLE doorkeeper.version_1_{name};\n" for name in _NAMES)
    + """DROP FUNCTION doorkeeper.log_written();
UPDATE doorkeeper.alembic_version SET version_num = '0002';
ANALYZE doorkeeper.item;
"""
)

EXPAND: Final = (
    _RENAME
    + ITEMS_AND_LOG
    + _TEXTS
    + _VIEWS
    + _LOG_VIEW
    + _TRANSLATE
    + _MOVE
    + _WRITE
    + TRIGGER
    + _END
)
"""From version 1 to version 2, under running nodes of version 1."""

CONTRACT: Final = (
    "".join(f"DROP VIEW doorkeeper.{name};\n" for name in _NAMES)
    + """DROP FUNCTION doorkeeper.version_1_translate();
DROP FUNCTION doorkeeper.version_1_write();
DROP FUNCTION doorkeeper.version_1_prune();
DROP FUNCTION doorkeeper.version_1_base64(bytea);
DROP FUNCTION doorkeeper.version_1_json(jsonb, text);
DROP FUNCTION doorkeeper.version_1_cells(text);
DROP TABLE doorkeeper.version_1_row;
DROP TABLE doorkeeper.alembic_version;
DROP INDEX doorkeeper.version_1;
"""
)
"""Remove the objects for version 1 from a migrated store."""
