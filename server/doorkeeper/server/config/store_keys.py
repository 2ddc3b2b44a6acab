"""The keys of the store, and of nodes that share one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from doorkeeper.base.key import Key, file, flag, integer, long, optional, text
from doorkeeper.base.values import KeyType, at_least, not_blank, off_or_at_least, one_of
from doorkeeper.server.schema.features import LEVELS

DATA_DIR: Final = Key(
    "doorkeeper.data.dir",
    KeyType.STRING,
    "./data",
    "The folder of the embedded store, and of the identity file of a shared store. It is created"
    " if missing, readable only by its owner.",
    not_blank,
    read=Path,
)
STORE: Final = text(
    "doorkeeper.store",
    "embedded",
    "The store of the state (ACLs, topics, users): embedded, or a PostgreSQL database that"
    " nodes share:"
    " postgresql://user@host:5432,host2/database?sslmode=verify-full&sslrootcert=... with"
    " sslcert, sslkey, ssl_min_protocol_version and application_name as in libpq. A shared store"
    " requires node.id. A password in the URL is never shown.",
)
STORE_PASSWORD_FILE: Final = file(
    "doorkeeper.store.password.file",
    "A file with the password of a shared store. It is read for each connection, so the password"
    " can be changed. By default the password of the URL, PGPASSWORD or ~/.pgpass is used.",
)
STORE_CREATE: Final = flag(
    "doorkeeper.store.create",
    "Whether a server that finds no store creates one, which is an empty cluster. With false,"
    " only doorkeeper store create does, and a server without a store does not start. Set it to"
    " false after the first start, because an unmounted volume looks like a missing store.",
    default=True,
)
KAFKA_RELEASE: Final = optional(
    "doorkeeper.kafka.release",
    "The release of Kafka whose rules the store follows: 4.3 or 4.4. A new store gets it, by"
    " default the newest; a server whose store follows another release does not start. From 4.4"
    " on the host of an ACL may be a network. doorkeeper store release changes the release of a"
    " store.",
    one_of(*LEVELS),
)
STORE_IDENTITY_FILE: Final = file(
    "doorkeeper.store.identity.file",
    "The file with the identity of the server's store and the acknowledged revision, by which"
    " the server rejects a lost or replaced store. By default doorkeeper.identity in"
    " doorkeeper.data.dir; for a shared store doorkeeper.node-<node.id>.identity there.",
)
STORE_CONNECT_TIMEOUT_MS: Final = integer(
    "doorkeeper.store.connect.timeout.ms",
    5000,
    "Timeout of a connection attempt to a shared store, divided among its hosts; for"
    " heartbeats at most a third of broker.session.timeout.ms.",
    at_least(1),
)
STORE_STATEMENT_TIMEOUT_MS: Final = integer(
    "doorkeeper.store.statement.timeout.ms",
    10_000,
    "Timeout of a statement of a shared store; afterwards the connection counts as lost."
    " Statements that copy many rows may take a minute.",
    at_least(1),
)
STORE_LEASE_TIMEOUT_MS: Final = integer(
    "doorkeeper.store.lease.timeout.ms",
    3000,
    "A shared store revokes the write lease of a node that is inactive for this time. Until"
    " then a frozen node blocks the changes of all nodes.",
    at_least(100),
)
STORE_MAX_AGE_MS: Final = long(
    "doorkeeper.store.max.age.ms",
    -1,
    "How long a node without a connection to its shared store decides by its last state."
    " Afterwards it denies everything until the store is available. -1 means no limit; otherwise"
    " at least 2000, because the store is polled once a second.",
    off_or_at_least(2000),
)
BROKER_HEARTBEAT_INTERVAL_MS: Final = integer(
    "broker.heartbeat.interval.ms",
    2000,
    "Interval of a node's heartbeats to a shared store.",
    at_least(1),
)
BROKER_SESSION_TIMEOUT_MS: Final = integer(
    "broker.session.timeout.ms",
    9000,
    "A node that sends no heartbeat for this time is fenced. The value must be greater than"
    " broker.heartbeat.interval.ms.",
    at_least(1),
)
