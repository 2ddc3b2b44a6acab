"""All keys that have an effect: Kafka's own, and those of Doorkeeper.

``docs/reference/configuration.md`` is generated from these rows, and those of the modules for
single subjects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from doorkeeper.base.key import (
    Applies,
    Dynamic,
    Key,
    Scope,
    file,
    flag,
    integer,
    java_class,
    long,
    optional,
    password,
    text,
    words,
)
from doorkeeper.base.tls import keys as tls_keys
from doorkeeper.base.values import (
    INT_MAX,
    LONG_MAX,
    KeyType,
    NotAllowed,
    at_least,
    off_or_at_least,
    one_of,
)
from doorkeeper.server.config import (
    audit_keys,
    http_keys,
    kafka_versions,
    sasl_keys,
    store_keys,
    test_broker_keys,
)
from doorkeeper.server.config.levels import levels_of


def limits_by_host(texts: str) -> Mapping[str, int]:
    """Read limits of single addresses: ``host:count``, comma-separated."""
    limits: dict[str, int] = {}
    wrong = []
    for element in texts.split(","):
        # From the right: an IPv6 address contains colons.
        host, colon, count = (part.strip() for part in element.rpartition(":"))
        if colon and host and count.isdecimal() and len(count) < 11 and int(count) <= INT_MAX:
            limits[host] = int(count)
        elif element.strip():
            wrong.append(element.strip())
    if wrong:
        raise NotAllowed(wrong, "host:count, comma-separated")
    return limits


# In the order of Kafka's default, which clients are shown.
_PROTOCOLS: Final = ("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT")
ACKNOWLEDGE_CLUSTERS: Final = "clusters"

NODE_ID: Final[Key[int | None]] = Key(
    "node.id",
    KeyType.INT,
    None,
    "The id of this node. By default that of broker.id, else 1.",
    at_least(0),
)
BROKER_ID: Final = integer(
    "broker.id", -1, "The id of this node if node.id is absent; -1 means none.", at_least(-1)
)
BROKER_RACK: Final = optional("broker.rack", "The rack of this node in Metadata responses.")
LISTENERS: Final = words(
    "listeners",
    "PLAINTEXT://:9092",
    "The addresses to listen on: NAME://host:port, comma-separated. No host means all"
    " interfaces; port 0 means a free port, which the start line prints.",
    in_kafka=Dynamic.BROKER,
)
ADVERTISED_LISTENERS: Final = words(
    "advertised.listeners",
    None,
    "The addresses that clients connect to; by default those of listeners.",
)
LISTENER_SECURITY_PROTOCOL_MAP: Final = text(
    "listener.security.protocol.map",
    ",".join(f"{name}:{name}" for name in _PROTOCOLS),
    "The protocol of each listener: NAME:PROTOCOL, comma-separated.",
    in_kafka=Dynamic.BROKER,
)
CONTROLLER_LISTENER_NAMES: Final = words(
    "controller.listener.names",
    None,
    "Listeners that act as a controller, for kafka-acls.sh --bootstrap-controller. They are not"
    " advertised to clients.",
)
INTER_BROKER_LISTENER_NAME: Final = optional(
    "inter.broker.listener.name",
    "The inter-broker listener; by default the one of security.inter.broker.protocol.",
)
SECURITY_INTER_BROKER_PROTOCOL: Final = text(
    "security.inter.broker.protocol",
    "PLAINTEXT",
    "The protocol of the inter-broker listener if inter.broker.listener.name is absent.",
    one_of(*_PROTOCOLS),
)
EARLY_START_LISTENERS: Final = words(
    "early.start.listeners",
    None,
    "Listeners that open before the authorizer has loaded its ACLs; by default the controller"
    " listeners.",
)
AUTHORIZER_CLASS_NAME: Final = text(
    "authorizer.class.name",
    "",
    "The authorizer. Kafka's class names select the standard authorizer; others are named by"
    " the path of a Python class or an entry point. Empty means no authorizer: everything is"
    " allowed.",
)
CREATE_TOPIC_POLICY_CLASS_NAME: Final = java_class(
    "create.topic.policy.class.name",
    "The policy of new topics: the path of a Python class or an entry point. It may refuse each"
    " topic that a request creates.",
)
ALTER_CONFIG_POLICY_CLASS_NAME: Final = java_class(
    "alter.config.policy.class.name",
    "The policy of configurations: the path of a Python class or an entry point. It may refuse"
    " each change of the configuration of a topic or broker.",
)
SUPER_USERS: Final = text(
    "super.users",
    "",
    "Principals to which every operation is allowed: User:alice;User:bob.",
    applies=Applies.DYNAMIC,
    declared=False,
)
ALLOW_EVERYONE_IF_NO_ACL_FOUND: Final = flag(
    "allow.everyone.if.no.acl.found",
    "Whether all principals may access a resource without any ACL.",
    applies=Applies.DYNAMIC,
    declared=False,
)
PRINCIPAL_BUILDER_CLASS: Final = java_class(
    "principal.builder.class",
    "The class that builds principals: Kafka's class name for the built-in one, the path of a"
    " Python class, or an entry point.",
    "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
    scope=Scope.LISTENER,
    in_kafka=Dynamic.BROKER,
)
DELEGATION_TOKEN_SECRET_KEY: Final = password(
    "delegation.token.secret.key",
    "The secret of delegation tokens, which are disabled without it. Tokens created with another"
    " secret cannot authenticate, be renewed or be expired.",
    applies=Applies.RELOAD,
)
DELEGATION_TOKEN_MASTER_KEY: Final = password(
    "delegation.token.master.key",
    "The older name of delegation.token.secret.key; applies if that is absent.",
    applies=Applies.RELOAD,
    declared=False,
)
DELEGATION_TOKEN_MAX_LIFETIME_MS: Final = long(
    "delegation.token.max.lifetime.ms",
    604_800_000,
    "The maximum lifetime of a delegation token, including renewals.",
    at_least(1, LONG_MAX),
    applies=Applies.RELOAD,
)
DELEGATION_TOKEN_EXPIRY_TIME_MS: Final = long(
    "delegation.token.expiry.time.ms",
    86_400_000,
    "The time until a delegation token expires without a renewal.",
    at_least(1, LONG_MAX),
    applies=Applies.RELOAD,
)
DELEGATION_TOKEN_EXPIRY_CHECK_INTERVAL_MS: Final = long(
    "delegation.token.expiry.check.interval.ms",
    3_600_000,
    "Interval of the deletion of expired delegation tokens.",
    at_least(1, LONG_MAX),
    applies=Applies.RELOAD,
)
MAX_CONNECTIONS: Final = integer(
    "max.connections",
    INT_MAX,
    "The maximum number of connections of the server, or, with a listener prefix, of that"
    " listener.",
    at_least(0),
    scope=Scope.LISTENER,
    applies=Applies.DYNAMIC,
    in_kafka=Dynamic.CLUSTER_LISTENER,
)
MAX_CONNECTIONS_PER_IP: Final = integer(
    "max.connections.per.ip",
    INT_MAX,
    "The maximum number of connections from one address.",
    at_least(0),
    applies=Applies.DYNAMIC,
    in_kafka=Dynamic.CLUSTER,
)
MAX_CONNECTIONS_PER_IP_OVERRIDES: Final = Key(
    "max.connections.per.ip.overrides",
    KeyType.STRING,
    "",
    "Limits of single addresses instead of max.connections.per.ip: host:count, comma-separated.",
    read=limits_by_host,
    applies=Applies.DYNAMIC,
    in_kafka=Dynamic.CLUSTER,
)
CONNECTIONS_MAX_IDLE_MS: Final = long(
    "connections.max.idle.ms",
    600_000,
    "A connection without traffic for this time is closed; -1 closes none.",
    off_or_at_least(1, LONG_MAX),
)
SOCKET_REQUEST_MAX_BYTES: Final = integer(
    "socket.request.max.bytes",
    104_857_600,
    "The maximum size of a request in bytes. A larger request closes its connection.",
    at_least(1),
)
SOCKET_LISTEN_BACKLOG_SIZE: Final = integer(
    "socket.listen.backlog.size",
    50,
    "The maximum number of connections that wait to be accepted.",
    at_least(1),
)
AUTO_CREATE_TOPICS_ENABLE: Final = flag(
    "auto.create.topics.enable",
    "Whether a Metadata request may create an unknown topic.",
    default=True,
)
NUM_PARTITIONS: Final = integer(
    "num.partitions", 1, "The default number of partitions of a new topic.", at_least(1)
)
DEFAULT_REPLICATION_FACTOR: Final = integer(
    "default.replication.factor",
    1,
    "The default replication factor of a new topic.",
    at_least(1, 2**15 - 1),
)
DELETE_TOPIC_ENABLE: Final = flag(
    "delete.topic.enable", "Whether topics can be deleted.", default=True
)
MAX_REQUEST_PARTITION_SIZE_LIMIT: Final = integer(
    "max.request.partition.size.limit",
    2000,
    "The maximum number of partitions in a DescribeTopicPartitions response.",
    at_least(1),
)
CLUSTERS_FILE: Final = file(
    "doorkeeper.clusters.file",
    "A YAML file of Kafka clusters whose ACLs are observed or kept equal to those of this server."
    " SIGHUP reloads it.",
)
ACKNOWLEDGE: Final = text(
    "doorkeeper.acknowledge",
    "stored",
    "When the response to an ACL change is sent. stored: once the change is stored. clusters: once"
    " every broker of every cluster with mode enforce in doorkeeper.clusters.file enforces it."
    " After doorkeeper.update.timeout.ms the error names the brokers that do not; the change stays"
    " stored.",
    one_of("stored", ACKNOWLEDGE_CLUSTERS),
)
TEST_BROKER: Final = flag(
    "doorkeeper.test.broker",
    "Whether producers, consumers and their groups are served, for tests. Records are kept in"
    " memory only and are lost when the server stops. Not with a shared store.",
)
TEST_BROKER_MEMORY_BYTES: Final = long(
    "doorkeeper.test.broker.memory.bytes",
    268_435_456,
    "The memory for the records of all topics. Beyond it, the oldest segments of any topic are"
    " dropped.",
    at_least(1_048_576),
)
JAAS_FILE: Final = file(
    "doorkeeper.jaas.file",
    "A JAAS file, like a broker's java.security.auth.login.config. Its sections KafkaServer and"
    " <listener>.KafkaServer apply to mechanisms without sasl.jaas.config. Alternatives:"
    " doorkeeper serve --jaas-file, and the environment variable DOORKEEPER_JAAS_FILE.",
    applies=Applies.RELOAD,
)
CHANGE_LOG_RETENTION_DAYS: Final = integer(
    "doorkeeper.change.log.retention.days",
    -1,
    "Rows of the change log are deleted after this number of days; -1 keeps them.",
    at_least(-1, 36_500),
)
UPDATE_TIMEOUT_MS: Final = integer(
    "doorkeeper.update.timeout.ms",
    30_000,
    "Timeout of an ACL change; its incomplete items are answered with REQUEST_TIMED_OUT.",
    at_least(1),
)
UPDATE_WAITING_MAX: Final = integer(
    "doorkeeper.update.waiting.max",
    500_000,
    "The maximum number of items of ACL changes that wait for the authorizer. A change beyond"
    " it is rejected with THROTTLING_QUOTA_EXCEEDED.",
    at_least(1),
)
AUTHORIZER_SLOW_MS: Final = integer(
    "doorkeeper.authorizer.slow.ms",
    50,
    "Calls of authorize that take longer are counted, and logged at most once a minute.",
    at_least(1),
)
AUTHORIZER_UPDATES_THREAD: Final = flag(
    "doorkeeper.authorizer.updates.thread",
    "Whether create_acls and delete_acls of a plug-in are called in a dedicated thread, one call"
    " at a time, so that they may block.",
)
SHUTDOWN_DRAIN_MS: Final = integer(
    "doorkeeper.shutdown.drain.ms",
    10_000,
    "How long a shutdown waits for pending responses.",
    at_least(0),
)
CLIENTS_JOIN_GROUP: Final = flag(
    "doorkeeper.clients.join.group",
    "Whether ApiVersions lists JoinGroup, which is answered with COORDINATOR_NOT_AVAILABLE. An"
    " old librdkafka (Debian 12 has 2.0.2) uses GSSAPI only with such servers.",
)
KERBEROS_CONFIG_FILE: Final = file(
    "doorkeeper.kerberos.config.file",
    "The krb5.conf of this process, for GSSAPI. By default that of the environment variable"
    " KRB5_CONFIG, else /etc/krb5.conf.",
)
AUTHORIZER_LOG_FORMAT: Final = text(
    "doorkeeper.authorizer.log.format",
    "4.2",
    "The format of the authorizer log's lines, by the release of Kafka that introduced it: 4.2,"
    " 3.3, 2.4, 2.0 or 1.0.",
    one_of("4.2", "3.3", "2.4", "2.0", "1.0"),
    applies=Applies.DYNAMIC,
)
AUTHORIZER_LOG_FILE: Final = file(
    "doorkeeper.authorizer.log.file",
    "A file for the lines of kafka.authorizer.logger, like a broker's kafka-authorizer.log,"
    " rotated every hour. They are then not written to the server's log.",
)
LOG_FORMAT: Final = text(
    "doorkeeper.log.format",
    "auto",
    "The format of log lines: console (for people), json (one object a line), kafka (as in a"
    " broker's log files), or auto: console on a terminal, else json.",
    one_of("auto", "console", "json", "kafka"),
)
LOG_LEVELS: Final = Key(
    "doorkeeper.log.levels",
    KeyType.LIST,
    "",
    "Levels of loggers: root=INFO,kafka.authorizer.logger=DEBUG. TRACE, DEBUG, INFO, WARN,"
    " ERROR or OFF; by default that of the parent.",
    read=levels_of,
    applies=Applies.DYNAMIC,
)

_MODULES: Final = (
    *(sasl_keys, tls_keys, store_keys, http_keys, audit_keys, test_broker_keys, kafka_versions),
)

TEST_BROKER_KEYS: Final = frozenset(
    key.name for key in vars(test_broker_keys).values() if isinstance(key, Key)
)
"""Names of keys that have an effect with the test broker alone."""

KEYS: Final[dict[str, Key[object]]] = {
    key.name: key
    for rows in (dict(globals()), *map(vars, _MODULES))
    for key in rows.values()
    if isinstance(key, Key)
}
"""All keys that have an effect, by name."""
