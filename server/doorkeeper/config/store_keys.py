"""The keys of the store, and of nodes that share one."""

from __future__ import annotations

from typing import Final

from doorkeeper.config.key import Key
from doorkeeper.config.values import KeyType, at_least, not_blank

STORE: Final = (
    Key(
        name="doorkeeper.data.dir",
        type=KeyType.STRING,
        default="./data",
        doc="The folder of the embedded store; made where it is missing, readable by its owner.",
        importance="HIGH",
        check=not_blank,
    ),
    Key(
        name="doorkeeper.store",
        type=KeyType.STRING,
        default="embedded",
        doc=(
            "Where the state (ACLs, topics, users) is kept: embedded, or a PostgreSQL that nodes"
            " share: postgresql://user@host:5432,host2/database?sslmode=verify-full&sslrootcert=..."
            " with sslcert, sslkey, ssl_min_protocol_version and application_name as libpq has"
            " them. It demands node.id. A password in it is never shown."
        ),
        importance="HIGH",
    ),
    Key(
        name="doorkeeper.store.password.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "A file with the password for a shared store; read at each connection, so that it can"
            " be changed. Without it count the URL's, PGPASSWORD and ~/.pgpass."
        ),
    ),
    Key(
        name="doorkeeper.store.create",
        type=KeyType.BOOLEAN,
        default="true",
        doc=(
            "Whether the first start creates the store. With false only doorkeeper store create"
            " does, and a server without its store does not start."
        ),
    ),
    Key(
        name="doorkeeper.store.identity.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "The file that says which store the server uses and what it acknowledged, so that it"
            " refuses a lost or replaced one. By default doorkeeper.identity in"
            " doorkeeper.data.dir, and doorkeeper.node-<node.id>.identity there for a shared store"
            " where doorkeeper.data.dir is given."
        ),
    ),
    Key(
        name="doorkeeper.store.connect.timeout.ms",
        type=KeyType.INT,
        default="5000",
        doc=(
            "How long a connection to a shared store may take to open. Several hosts share it; of a"
            " heartbeat's it is at most a third of broker.session.timeout.ms."
        ),
        importance="LOW",
        check=at_least(1),
    ),
    Key(
        name="doorkeeper.store.statement.timeout.ms",
        type=KeyType.INT,
        default="10000",
        doc=(
            "How long a shared store may take for one statement; then the connection counts as"
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
            "After how long a shared store takes the right to write from a node that does nothing"
            " with it: one that is frozen stops the writes of all nodes for so long."
        ),
        importance="LOW",
        check=at_least(100),
    ),
    Key(
        name="doorkeeper.store.max.age.ms",
        type=KeyType.LONG,
        default="-1",
        doc=(
            "For how long a node that is cut off from a shared store decides from what it knows;"
            " then it denies until the store is back. -1 sets no limit."
        ),
        check=at_least(-1),
    ),
    Key(
        name="broker.heartbeat.interval.ms",
        type=KeyType.INT,
        default="2000",
        doc="How often a node tells a shared store that it lives.",
        check=at_least(1),
    ),
    Key(
        name="broker.session.timeout.ms",
        type=KeyType.INT,
        default="9000",
        doc=(
            "After how long without a heartbeat a node no longer counts as one of the cluster."
            " It must be longer than broker.heartbeat.interval.ms."
        ),
        check=at_least(1),
    ),
)
"""All keys, in the order of the documentation."""
