"""The keys that have an effect: Kafka's own, and those of Doorkeeper.

``docs/configuration.md`` is generated from this table.
"""

from __future__ import annotations

from typing import Final

from doorkeeper.config.audit_keys import AUDIT
from doorkeeper.config.http_keys import HTTP
from doorkeeper.config.key import Applies, Key, Scope
from doorkeeper.config.sasl_keys import SASL
from doorkeeper.config.store_keys import STORE
from doorkeeper.config.tls_keys import TLS
from doorkeeper.config.token_keys import TOKENS
from doorkeeper.config.values import (
    INT_MAX,
    LONG_MAX,
    KeyType,
    at_least,
    one_of,
)

# In the order of Kafka's default, which clients are shown.
_PROTOCOLS = ("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT")
_PRINCIPAL_BUILDER = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"

_NODE = (
    Key(
        name="node.id",
        type=KeyType.INT,
        default=None,
        doc="The id of this node. Where it is absent, broker.id counts, else it is 1.",
        importance="HIGH",
        check=at_least(0),
    ),
    Key(
        name="broker.id",
        type=KeyType.INT,
        default="-1",
        doc="The id of this node where node.id is absent; -1 is no id.",
        importance="HIGH",
        check=at_least(-1),
    ),
    Key(
        name="broker.rack",
        type=KeyType.STRING,
        default=None,
        doc="The rack that Metadata tells for this node.",
    ),
)

_LISTENERS = (
    Key(
        name="listeners",
        type=KeyType.LIST,
        default="PLAINTEXT://:9092",
        doc=(
            "Where the server listens: NAME://host:port, comma-separated. No host means all"
            " interfaces; port 0 means a free port, which the start line prints."
        ),
        importance="HIGH",
    ),
    Key(
        name="advertised.listeners",
        type=KeyType.LIST,
        default=None,
        doc="The addresses that clients are told to dial; by default those of listeners.",
        importance="HIGH",
    ),
    Key(
        name="listener.security.protocol.map",
        type=KeyType.STRING,
        default=",".join(f"{name}:{name}" for name in _PROTOCOLS),
        doc="Which protocol each listener speaks: NAME:PROTOCOL, comma-separated.",
        importance="LOW",
    ),
    Key(
        name="controller.listener.names",
        type=KeyType.LIST,
        default=None,
        doc=(
            "Listeners that answer as a controller: for kafka-acls.sh --bootstrap-controller."
            " They are not advertised to clients."
        ),
        importance="HIGH",
    ),
    Key(
        name="inter.broker.listener.name",
        type=KeyType.STRING,
        default=None,
        doc="The listener between nodes; by default the one of security.inter.broker.protocol.",
    ),
    Key(
        name="security.inter.broker.protocol",
        type=KeyType.STRING,
        default="PLAINTEXT",
        doc="Names the listener between nodes where inter.broker.listener.name is absent.",
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
            "Who decides. Kafka's own class names stand for the standard authorizer; other"
            " authorizers are named by a dotted path of Python or an entry point. Empty means"
            " none: everything is allowed."
        ),
        importance="LOW",
    ),
    Key(
        name="super.users",
        type=KeyType.STRING,
        default="",
        doc="Principals that may do everything: User:alice;User:bob.",
        declared=False,
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="allow.everyone.if.no.acl.found",
        type=KeyType.BOOLEAN,
        default="false",
        doc="Whether a resource without any ACL is open to everybody.",
        declared=False,
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="principal.builder.class",
        type=KeyType.CLASS,
        default=_PRINCIPAL_BUILDER,
        doc=(
            "The class that makes a principal of what a client proved: Kafka's own, which stands"
            " for ours, a dotted path of Python or an entry point."
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
        doc="The most connections at a time: of the server, or with the prefix of one listener.",
        check=at_least(0),
        scope=Scope.LISTENER,
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="max.connections.per.ip",
        type=KeyType.INT,
        default=str(INT_MAX),
        doc="The most connections at a time from one address.",
        check=at_least(0),
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="max.connections.per.ip.overrides",
        type=KeyType.STRING,
        default="",
        doc="Other limits for some addresses: host:count, comma-separated.",
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="connections.max.idle.ms",
        type=KeyType.LONG,
        default="600000",
        doc="A connection that sends and receives nothing for so long is closed.",
        check=at_least(1, LONG_MAX),
    ),
    Key(
        name="socket.request.max.bytes",
        type=KeyType.INT,
        default="104857600",
        doc="The largest request, in bytes. A larger one closes its connection.",
        importance="HIGH",
        check=at_least(1),
    ),
    Key(
        name="socket.listen.backlog.size",
        type=KeyType.INT,
        default="50",
        doc="How many connections may wait to be accepted.",
        check=at_least(1),
    ),
)

_TOPICS = (
    Key(
        name="auto.create.topics.enable",
        type=KeyType.BOOLEAN,
        default="true",
        doc="Whether Metadata for an unknown topic may create it.",
        importance="HIGH",
    ),
    Key(
        name="num.partitions",
        type=KeyType.INT,
        default="1",
        doc="The partitions of a topic that is created without a number.",
        check=at_least(1),
    ),
    Key(
        name="default.replication.factor",
        type=KeyType.INT,
        default="1",
        doc="The replication factor of a topic that is created without one.",
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
        doc="The most partitions in one answer to DescribeTopicPartitions.",
        check=at_least(1),
    ),
)

_OURS = (
    Key(
        name="doorkeeper.jaas.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "A JAAS file, as a broker's java.security.auth.login.config: its sections KafkaServer"
            " and <listener>.KafkaServer count where a mechanism has no sasl.jaas.config."
            " doorkeeper serve --jaas-file and the environment variable DOORKEEPER_JAAS_FILE"
            " stand for it."
        ),
        applies=Applies.RELOAD,
    ),
    Key(
        name="doorkeeper.catalog.file",
        type=KeyType.STRING,
        default=None,
        doc="A YAML file that declares topics and groups.",
        applies=Applies.RELOAD,
    ),
    Key(
        name="doorkeeper.change.log.retention.days",
        type=KeyType.INT,
        default="-1",
        doc="After how many days rows of the change log are deleted; -1 keeps them.",
        check=at_least(-1, 36500),
    ),
    Key(
        name="doorkeeper.update.timeout.ms",
        type=KeyType.INT,
        default="30000",
        doc="How long a change of ACLs may take until its items are answered REQUEST_TIMED_OUT.",
        check=at_least(1),
    ),
    Key(
        name="doorkeeper.update.waiting.max",
        type=KeyType.INT,
        default="500000",
        doc=(
            "How many items of ACL changes may wait for the authorizer at a time; a change beyond"
            " is refused with THROTTLING_QUOTA_EXCEEDED."
        ),
        importance="LOW",
        check=at_least(1),
    ),
    Key(
        name="doorkeeper.authorizer.slow.ms",
        type=KeyType.INT,
        default="50",
        doc=(
            "A call of a method of the authorizer that takes longer is counted, and logged with its"
            " duration once a minute at most for each method."
        ),
        importance="LOW",
        check=at_least(1),
    ),
    Key(
        name="doorkeeper.shutdown.drain.ms",
        type=KeyType.INT,
        default="10000",
        doc="How long a stop waits for answers that are under way.",
        check=at_least(0),
    ),
    Key(
        name="doorkeeper.clients.withhold",
        type=KeyType.LIST,
        default="",
        doc=(
            "From which client software ACLs are withheld that it cannot read, and would fail on as"
            " a whole: software=<highest resource type>/<highest operation>, by Kafka's codes;"
            " unnamed is software that gives no name. For kafka-python:"
            " kafka-python=7/14,unnamed=6/12. Nothing is withheld by default, as with a broker."
        ),
        importance="LOW",
    ),
    Key(
        name="doorkeeper.clients.answer.max.bytes",
        type=KeyType.LIST,
        default="",
        doc=(
            "How large an answer to DescribeAcls may be for a client software:"
            " software=<bytes>, or software/version=<bytes>. A larger one is refused with"
            " POLICY_VIOLATION. librdkafka ends its process at about 8 MB:"
            " confluent-kafka-python=7000000,librdkafka=7000000."
        ),
        importance="LOW",
    ),
    Key(
        name="doorkeeper.clients.join.group",
        type=KeyType.BOOLEAN,
        default="false",
        doc=(
            "Whether JoinGroup 0-1 is listed, and answered with COORDINATOR_NOT_AVAILABLE. An old"
            " librdkafka (that of Debian 12 is 2.0.2) offers GSSAPI to no other server."
        ),
        importance="LOW",
    ),
    Key(
        name="doorkeeper.kerberos.config.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "The krb5.conf of this process, for GSSAPI. Without it counts the environment variable"
            " KRB5_CONFIG, else /etc/krb5.conf."
        ),
    ),
    Key(
        name="doorkeeper.authorizer.log.format",
        type=KeyType.STRING,
        default="4.2",
        doc=(
            "The form of the authorizer's audit line, named by the release of Kafka that brought"
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
            "A file for the lines of kafka.authorizer.logger, as a broker's kafka-authorizer.log:"
            " rolled every hour. They leave the server's own log then."
        ),
    ),
    Key(
        name="doorkeeper.log.format",
        type=KeyType.STRING,
        default="auto",
        doc=(
            "How log lines look: console (for people), json (one object a line), kafka (the form"
            " of a broker's log files), or auto: console on a terminal, json otherwise."
        ),
        check=one_of("auto", "console", "json", "kafka"),
    ),
    Key(
        name="doorkeeper.log.levels",
        type=KeyType.LIST,
        default="",
        doc=(
            "Levels of loggers: root=INFO,kafka.authorizer.logger=DEBUG. TRACE, DEBUG, INFO,"
            " WARN, ERROR or OFF; a logger without one has its parent's."
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
        _OURS,
        HTTP,
        AUDIT,
    )
    for key in group
}
"""All keys that have an effect, by name."""
