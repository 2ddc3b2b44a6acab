"""Schema version 1: all tables, and the trigger that carries the log into the others."""

from alembic import op

revision = "0001"
down_revision = None

# A colon before a word would be a parameter to SQLAlchemy; two of them are a cast.
TABLES = """
CREATE TABLE doorkeeper.meta (
    key   text PRIMARY KEY,
    value text NOT NULL
);

CREATE TABLE doorkeeper.head (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    revision bigint  NOT NULL
);
INSERT INTO doorkeeper.head (revision) VALUES (0);

CREATE TABLE doorkeeper.acl (
    binding_id      text     PRIMARY KEY,
    resource_type   smallint NOT NULL,
    name            text     NOT NULL,
    pattern_type    smallint NOT NULL,
    principal       text     NOT NULL,
    host            text     NOT NULL,
    operation       smallint NOT NULL,
    permission_type smallint NOT NULL,
    revision        bigint   NOT NULL
);

CREATE TABLE doorkeeper.topic (
    name     text   PRIMARY KEY,
    topic    text   NOT NULL,
    revision bigint NOT NULL
);

CREATE TABLE doorkeeper.config (
    broker   text   NOT NULL,
    key      text   NOT NULL,
    value    text   NOT NULL,
    revision bigint NOT NULL,
    EXCLUDE USING hash ((broker || ' ' || key) WITH =)
);

CREATE TABLE doorkeeper.credential (
    user_name  text    NOT NULL,
    mechanism  text    NOT NULL,
    salt       bytea   NOT NULL,
    stored_key bytea   NOT NULL,
    server_key bytea   NOT NULL,
    iterations integer NOT NULL,
    revision   bigint  NOT NULL,
    EXCLUDE USING hash ((mechanism || ' ' || user_name) WITH =)
);

CREATE TABLE doorkeeper.token (
    token_id text   PRIMARY KEY,
    token    text   NOT NULL,
    revision bigint NOT NULL
);

CREATE TABLE doorkeeper.change_log (
    revision         bigint   NOT NULL,
    item             integer  NOT NULL,
    kind             smallint NOT NULL,
    time_ms          bigint   NOT NULL
        DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    author_principal text     NOT NULL,
    author_host      text     NOT NULL,
    author_listener  text     NOT NULL,
    author_client_id text     NOT NULL,
    binding_id       text,
    resource_type    smallint,
    name             text     NOT NULL,
    pattern_type     smallint,
    principal        text,
    host             text,
    operation        smallint,
    permission_type  smallint,
    topic            text,
    config_key       text,
    config_value     text,
    mechanism        text,
    record           text,
    node_id          integer,
    batch            uuid,
    PRIMARY KEY (revision, item)
);

CREATE TABLE doorkeeper.node (
    node_id    integer     PRIMARY KEY,
    run        uuid        NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    leaves_at  timestamptz NOT NULL,
    about      text        NOT NULL
);

INSERT INTO doorkeeper.meta VALUES
    ('schema_version', '1'), ('min_reader', '1'), ('min_writer', '1');
"""

TRIGGER = """
CREATE FUNCTION doorkeeper.log_written() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    oldest  bigint;
    newest  bigint;
    number  bigint;
    highest smallint;
    wanted  bigint;
    deleted bigint;
BEGIN
    SELECT min(revision), max(revision), count(DISTINCT revision), max(kind),
           count(*) FILTER (WHERE kind = 2)
    INTO oldest, newest, number, highest, wanted
    FROM written;
    IF oldest IS NULL THEN
        RETURN NULL;
    END IF;

    UPDATE doorkeeper.head SET revision = newest WHERE revision = oldest - 1;
    IF NOT FOUND OR number <> newest - oldest + 1 THEN
        RAISE EXCEPTION 'revisions % to % leave a gap', oldest, newest
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;

    INSERT INTO doorkeeper.acl
    SELECT binding_id, resource_type, name, pattern_type,
           principal, host, operation, permission_type, revision
    FROM written WHERE kind = 1;
    IF wanted > 0 THEN
        DELETE FROM doorkeeper.acl USING written
        WHERE written.kind = 2 AND acl.binding_id = written.binding_id;
        GET DIAGNOSTICS deleted = ROW_COUNT;
        IF deleted <> wanted THEN
            RAISE EXCEPTION 'a binding to delete is not in the store'
            USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    END IF;

    IF highest > 2 THEN
        DELETE FROM doorkeeper.topic USING written
        WHERE kind IN (3, 4, 5) AND topic.name = written.name;
        INSERT INTO doorkeeper.topic
        SELECT name, topic, revision FROM (
            SELECT DISTINCT ON (name) * FROM written WHERE kind IN (3, 4, 5)
            ORDER BY name, revision DESC, item DESC
        ) AS last WHERE kind <> 4;

        DELETE FROM doorkeeper.config USING written
        WHERE kind IN (6, 7) AND broker || ' ' || key = written.name || ' ' || config_key;
        INSERT INTO doorkeeper.config
        SELECT name, config_key, config_value, revision FROM (
            SELECT DISTINCT ON (name, config_key) * FROM written WHERE kind IN (6, 7)
            ORDER BY name, config_key, revision DESC, item DESC
        ) AS last WHERE kind <> 7;

        DELETE FROM doorkeeper.credential USING written
        WHERE kind IN (8, 9)
          AND credential.mechanism || ' ' || user_name = written.mechanism || ' ' || written.name;
        INSERT INTO doorkeeper.credential
        SELECT name, mechanism,
               decode(record::jsonb ->> 'salt', 'hex'),
               decode(record::jsonb ->> 'stored_key', 'hex'),
               decode(record::jsonb ->> 'server_key', 'hex'),
               (record::jsonb ->> 'iterations')::integer,
               revision
        FROM (
            SELECT DISTINCT ON (name, mechanism) * FROM written WHERE kind IN (8, 9)
            ORDER BY name, mechanism, revision DESC, item DESC
        ) AS last WHERE kind <> 9;
        UPDATE doorkeeper.change_log SET record = NULL
        WHERE revision BETWEEN oldest AND newest AND kind = 8;

        DELETE FROM doorkeeper.token USING written
        WHERE kind IN (10, 11) AND token.token_id = written.name;
        INSERT INTO doorkeeper.token
        SELECT name, record, revision FROM (
            SELECT DISTINCT ON (name) * FROM written WHERE kind IN (10, 11)
            ORDER BY name, revision DESC, item DESC
        ) AS last WHERE kind <> 11;
    END IF;

    PERFORM pg_notify('doorkeeper', newest::text);
    RETURN NULL;
END
$$;

CREATE TRIGGER log_written AFTER INSERT ON doorkeeper.change_log
REFERENCING NEW TABLE AS written
FOR EACH STATEMENT EXECUTE FUNCTION doorkeeper.log_written();
"""


def upgrade() -> None:
    """Make everything."""
    op.execute(TABLES)
    op.execute(TRIGGER)
