"""The keys of the store, and of nodes that share one."""

from __future__ import annotations

from typing import Final

from doorkeeper.base.key import Key
from doorkeeper.base.values import KeyType, at_least, not_blank, off_or_at_least, one_of
from doorkeeper.server.schema.features import LEVELS

STORE: Final = (
    Key(
        name="doorkeeper.data.dir",
        type=KeyType.STRING,
        default="./data",
        doc=(
            "The folder of the embedded store, and of the file by which a node knows a shared one."
            " It is created if missing, readable only by its owner."
        ),
        importance="HIGH",
        check=not_blank,
    ),
    Key(
        name="doorkeeper.store",
        type=KeyType.STRING,
        default="embedded",
        doc=(
            "The store of the state (ACLs, topics, users): embedded, or a PostgreSQL database"
            " that nodes share:"
            " postgresql://user@host:5432,host2/database?sslmode=verify-full&sslrootcert=... with"
            " sslcert, sslkey, ssl_min_protocol_version and application_name as in libpq. A"
            " shared store requires node.id. A password in the URL is never shown."
        ),
        importance="HIGH",
    ),
    Key(
        name="doorkeeper.store.password.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "A file with the password of a shared store. It is read for each connection, so the"
            " password can change. By default the password of the URL, PGPASSWORD or ~/.pgpass"
            " applies."
        ),
    ),
    Key(
        name="doorkeeper.store.create",
        type=KeyType.BOOLEAN,
        default="true",
        doc=(
            "Whether a start that finds no store creates one, which is an empty cluster. With false"
            " only doorkeeper store create does, and a server without a store does not start: set"
            " it after the first start, since a volume that is not mounted looks like one."
        ),
    ),
    Key(
        name="doorkeeper.kafka.release",
        type=KeyType.STRING,
        default=None,
        doc=(
            "The release of Kafka whose rules the store follows: 4.3 or 4.4. A new store gets it,"
            " by default the newest; a server whose store follows another release does not start."
            " From 4.4 on the host of an ACL may be a network. doorkeeper store release changes"
            " the release of a store."
        ),
        check=one_of(*LEVELS),
    ),
    Key(
        name="doorkeeper.store.identity.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "The file with the identity of the server's store and the acknowledged revision, by"
            " which the server rejects a lost or replaced store. By default doorkeeper.identity"
            " in doorkeeper.data.dir; for a shared store doorkeeper.node-<node.id>.identity"
            " there."
        ),
    ),
    Key(
        name="doorkeeper.store.connect.timeout.ms",
        type=KeyType.INT,
        default="5000",
        doc=(
            "Time-out of a connection attempt to a shared store, divided among its hosts; for"
            " heartbeats at most a third of broker.session.timeout.ms."
        ),
        importance="LOW",
        check=at_least(1),
    ),
    Key(
        name="doorkeeper.store.statement.timeout.ms",
        type=KeyType.INT,
        default="10000",
        doc=(
            "Time-out of a statement of a shared store; afterwards the connection counts as"
            " lost. Copies of many rows have a minute."
        ),
        importance="LOW",
        check=at_least(1),
    ),
    Key(
        name="doorkeeper.store.lease.timeout.ms",
        type=KeyType.INT,
        default="3000",
        doc=(
            "A shared store revokes the write lease of a node that is inactive for this time."
            " Until then a frozen node blocks the changes of all nodes."
        ),
        importance="LOW",
        check=at_least(100),
    ),
    Key(
        name="doorkeeper.store.max.age.ms",
        type=KeyType.LONG,
        default="-1",
        doc=(
            "How long a node without a connection to its shared store allows access by its last"
            " state; afterwards it denies until the store is available. -1 means no limit;"
            " otherwise at least 2000, since the store is asked once a second."
        ),
        # The store is asked once a second: a shorter age would deny between two answers.
        check=off_or_at_least(2_000),
    ),
    Key(
        name="broker.heartbeat.interval.ms",
        type=KeyType.INT,
        default="2000",
        doc="Interval of a node's heartbeats to a shared store.",
        check=at_least(1),
    ),
    Key(
        name="broker.session.timeout.ms",
        type=KeyType.INT,
        default="9000",
        doc=(
            "A node without a heartbeat for this time leaves the cluster. It must be longer than"
            " broker.heartbeat.interval.ms."
        ),
        check=at_least(1),
    ),
)
"""All keys, in the order of the documentation."""
