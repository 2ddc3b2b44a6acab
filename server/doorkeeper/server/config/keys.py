"""The keys that have an effect: Kafka's own, and those of Doorkeeper.

``docs/reference/configuration.md`` is generated from this table.
"""

from __future__ import annotations

from typing import Final

from doorkeeper.base.key import Applies, Key, Scope
from doorkeeper.base.tls.keys import TLS
from doorkeeper.base.values import INT_MAX, LONG_MAX, KeyType, at_least, one_of
from doorkeeper.server.config.audit_keys import AUDIT
from doorkeeper.server.config.cluster_keys import CLUSTERS
from doorkeeper.server.config.http_keys import HTTP
from doorkeeper.server.config.sasl_keys import SASL
from doorkeeper.server.config.store_keys import STORE
from doorkeeper.server.config.test_broker_keys import TEST_BROKER
from doorkeeper.server.config.token_keys import TOKENS

# In the order of Kafka's default, which clients are shown.
_PROTOCOLS = ("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT")
_PRINCIPAL_BUILDER = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"

_NODE = (
    Key(
        name="node.id",
        type=KeyType.INT,
        default=None,
        doc="The id of this node. By default that of broker.id, else 1.",
        importance="HIGH",
        check=at_least(0),
    ),
    Key(
        name="broker.id",
        type=KeyType.INT,
        default="-1",
        doc="The id of this node if node.id is absent; -1 means none.",
        importance="HIGH",
        check=at_least(-1),
    ),
    Key(
        name="broker.rack",
        type=KeyType.STRING,
        default=None,
        doc="The rack of this node in Metadata responses.",
    ),
)

_LISTENERS = (
    Key(
        name="listeners",
        type=KeyType.LIST,
        default="PLAINTEXT://:9092",
        doc=(
            "The addresses to listen on: NAME://host:port, comma-separated. No host means all"
            " interfaces; port 0 means a free port, which the start line prints."
        ),
        importance="HIGH",
    ),
    Key(
        name="advertised.listeners",
        type=KeyType.LIST,
        default=None,
        doc="The addresses that clients connect to; by default those of listeners.",
        importance="HIGH",
    ),
    Key(
        name="listener.security.protocol.map",
        type=KeyType.STRING,
        default=",".join(f"{name}:{name}" for name in _PROTOCOLS),
        doc="The protocol of each listener: NAME:PROTOCOL, comma-separated.",
        importance="LOW",
    ),
    Key(
        name="controller.listener.names",
        type=KeyType.LIST,
        default=None,
        doc=(
            "Listeners that act as a controller, for kafka-acls.sh --bootstrap-controller. They"
            " are not advertised to clients."
        ),
        importance="HIGH",
    ),
    Key(
        name="inter.broker.listener.name",
        type=KeyType.STRING,
        default=None,
        doc="The inter-broker listener; by default the one of security.inter.broker.protocol.",
    ),
    Key(
        name="security.inter.broker.protocol",
        type=KeyType.STRING,
        default="PLAINTEXT",
        doc="The protocol of the inter-broker listener if inter.broker.listener.name is absent.",
        check=one_of(*_PROTOCOLS),
    ),
    Key(
        name="early.start.listeners",
        type=KeyType.LIST,
        default=None,
        doc=(
            "Listeners that open before the authorizer has loaded its ACLs; by default the"
            " controller listeners."
        ),
        importance="HIGH",
    ),
)

_AUTHORIZATION = (
    Key(
        name="authorizer.class.name",
        type=KeyType.STRING,
        default="",
        doc=(
            "The authorizer. Kafka's class names select the standard authorizer; others are"
            " named by the path of a Python class or an entry point. Empty means no authorizer:"
            " everything is allowed."
        ),
        importance="LOW",
    ),
    Key(
        name="create.topic.policy.class.name",
        type=KeyType.CLASS,
        default=None,
        doc=(
            "The policy of new topics: the path of a Python class or an entry point. It may refuse"
            " each topic that a request creates."
        ),
        importance="LOW",
    ),
    Key(
        name="alter.config.policy.class.name",
        type=KeyType.CLASS,
        default=None,
        doc=(
            "The policy of configurations: the path of a Python class or an entry point. It may"
            " refuse each change of the configuration of a topic or broker."
        ),
        importance="LOW",
    ),
    Key(
        name="super.users",
        type=KeyType.STRING,
        default="",
        doc="Principals to which every operation is allowed: User:alice;User:bob.",
        declared=False,
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="allow.everyone.if.no.acl.found",
        type=KeyType.BOOLEAN,
        default="false",
        doc="Whether all principals may access a resource without any ACL.",
        declared=False,
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="principal.builder.class",
        type=KeyType.CLASS,
        default=_PRINCIPAL_BUILDER,
        doc=(
            "The class that builds principals: Kafka's class name for the built-in one, the path"
            " of a Python class, or an entry point."
        ),
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
)

_CONNECTIONS = (
    Key(
        name="max.connections",
        type=KeyType.INT,
        default=str(INT_MAX),
        doc="The maximum number of connections: of the server, or with a prefix of one listener.",
        check=at_least(0),
        scope=Scope.LISTENER,
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="max.connections.per.ip",
        type=KeyType.INT,
        default=str(INT_MAX),
        doc="The maximum number of connections from one address.",
        check=at_least(0),
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="max.connections.per.ip.overrides",
        type=KeyType.STRING,
        default="",
        doc=(
            "Limits of single addresses instead of max.connections.per.ip: host:count,"
            " comma-separated."
        ),
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="connections.max.idle.ms",
        type=KeyType.LONG,
        default="600000",
        doc="A connection without traffic for this time is closed.",
        check=at_least(1, LONG_MAX),
    ),
    Key(
        name="socket.request.max.bytes",
        type=KeyType.INT,
        default="104857600",
        doc="The maximum size of a request in bytes. A larger one closes its connection.",
        importance="HIGH",
        check=at_least(1),
    ),
    Key(
        name="socket.listen.backlog.size",
        type=KeyType.INT,
        default="50",
        doc="The maximum number of connections that wait to be accepted.",
        check=at_least(1),
    ),
)

_TOPICS = (
    Key(
        name="auto.create.topics.enable",
        type=KeyType.BOOLEAN,
        default="true",
        doc="Whether a Metadata request may create an unknown topic.",
        importance="HIGH",
    ),
    Key(
        name="num.partitions",
        type=KeyType.INT,
        default="1",
        doc="The default number of partitions of a new topic.",
        check=at_least(1),
    ),
    Key(
        name="default.replication.factor",
        type=KeyType.INT,
        default="1",
        doc="The default replication factor of a new topic.",
        check=at_least(1, 2**15 - 1),
    ),
    Key(
        name="delete.topic.enable",
        type=KeyType.BOOLEAN,
        default="true",
        doc="Whether topics can be deleted.",
        importance="HIGH",
    ),
    Key(
        name="max.request.partition.size.limit",
        type=KeyType.INT,
        default="2000",
        doc="The maximum number of partitions in a DescribeTopicPartitions response.",
        check=at_least(1),
    ),
)

_OURS = (
    Key(
        name="doorkeeper.jaas.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "A JAAS file, like a broker's java.security.auth.login.config. Its sections"
            " KafkaServer and <listener>.KafkaServer apply to mechanisms without"
            " sasl.jaas.config. Alternatives: doorkeeper serve --jaas-file, and the environment"
            " variable DOORKEEPER_JAAS_FILE."
        ),
        applies=Applies.RELOAD,
    ),
    Key(
        name="doorkeeper.groups.file",
        type=KeyType.STRING,
        default=None,
        doc="A YAML file that declares groups with their members.",
        applies=Applies.RELOAD,
    ),
    Key(
        name="doorkeeper.change.log.retention.days",
        type=KeyType.INT,
        default="-1",
        doc="Rows of the change log are deleted after this number of days; -1 keeps them.",
        check=at_least(-1, 36500),
    ),
    Key(
        name="doorkeeper.update.timeout.ms",
        type=KeyType.INT,
        default="30000",
        doc=(
            "Time-out of a change of ACLs; its incomplete items are answered with"
            " REQUEST_TIMED_OUT."
        ),
        check=at_least(1),
    ),
    Key(
        name="doorkeeper.update.waiting.max",
        type=KeyType.INT,
        default="500000",
        doc=(
            "The maximum number of items of ACL changes that wait for the authorizer. A change"
            " beyond it is rejected with THROTTLING_QUOTA_EXCEEDED."
        ),
        importance="LOW",
        check=at_least(1),
    ),
    Key(
        name="doorkeeper.authorizer.slow.ms",
        type=KeyType.INT,
        default="50",
        doc="A call of authorize that takes longer is counted, and logged at most once a minute.",
        importance="LOW",
        check=at_least(1),
    ),
    Key(
        name="doorkeeper.authorizer.updates.thread",
        type=KeyType.BOOLEAN,
        default="false",
        doc=(
            "Whether create_acls and delete_acls of a plug-in are called in a thread of their own,"
            " one after the other, so that they may wait."
        ),
        importance="LOW",
    ),
    Key(
        name="doorkeeper.shutdown.drain.ms",
        type=KeyType.INT,
        default="10000",
        doc="How long a shutdown waits for pending responses.",
        check=at_least(0),
    ),
    Key(
        name="doorkeeper.clients.withhold",
        type=KeyType.LIST,
        default="",
        doc=(
            "Hide ACLs from client software that cannot decode them and would fail on the whole"
            " response: software=<highest resource type>/<highest operation>, as Kafka's codes;"
            " unnamed means software without a name. For kafka-python:"
            " kafka-python=7/14,unnamed=6/12. By default nothing is hidden, as by a broker."
        ),
        importance="LOW",
    ),
    Key(
        name="doorkeeper.clients.answer.max.bytes",
        type=KeyType.LIST,
        default="",
        doc=(
            "The maximum size of a DescribeAcls response for a client software:"
            " software=<bytes>, or software/version=<bytes>. A larger one is rejected with"
            " POLICY_VIOLATION. librdkafka crashes at about 8 MB:"
            " confluent-kafka-python=7000000,librdkafka=7000000."
        ),
        importance="LOW",
    ),
    Key(
        name="doorkeeper.clients.join.group",
        type=KeyType.BOOLEAN,
        default="false",
        doc=(
            "Whether ApiVersions lists JoinGroup, which is answered with"
            " COORDINATOR_NOT_AVAILABLE. An old librdkafka (Debian 12 has 2.0.2) uses GSSAPI only"
            " with such servers."
        ),
        importance="LOW",
    ),
    Key(
        name="doorkeeper.kerberos.config.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "The krb5.conf of this process, for GSSAPI. By default that of the environment"
            " variable KRB5_CONFIG, else /etc/krb5.conf."
        ),
    ),
    Key(
        name="doorkeeper.authorizer.log.format",
        type=KeyType.STRING,
        default="4.2",
        doc=(
            "The format of the authorizer log's lines, by the release of Kafka that introduced"
            " it: 4.2, 3.3, 2.4, 2.0 or 1.0."
        ),
        check=one_of("4.2", "3.3", "2.4", "2.0", "1.0"),
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="doorkeeper.authorizer.log.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "A file for the lines of kafka.authorizer.logger, like a broker's"
            " kafka-authorizer.log, rotated every hour. They are then absent from the server's"
            " log."
        ),
    ),
    Key(
        name="doorkeeper.log.format",
        type=KeyType.STRING,
        default="auto",
        doc=(
            "The format of log lines: console (for people), json (one object a line), kafka (as"
            " in a broker's log files), or auto: console on a terminal, else json."
        ),
        check=one_of("auto", "console", "json", "kafka"),
    ),
    Key(
        name="doorkeeper.log.levels",
        type=KeyType.LIST,
        default="",
        doc=(
            "Levels of loggers: root=INFO,kafka.authorizer.logger=DEBUG. TRACE, DEBUG, INFO,"
            " WARN, ERROR or OFF; by default that of the parent."
        ),
        applies=Applies.DYNAMIC,
    ),
)

KEYS: Final[dict[str, Key]] = {
    key.name: key
    for group in (
        _NODE,
        _LISTENERS,
        _AUTHORIZATION,
        SASL,
        TLS,
        TOKENS,
        _CONNECTIONS,
        _TOPICS,
        STORE,
        CLUSTERS,
        TEST_BROKER,
        _OURS,
        HTTP,
        AUDIT,
    )
    for key in group
}
"""All keys that have an effect, by name."""
