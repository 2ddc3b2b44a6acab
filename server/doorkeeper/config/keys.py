"""The keys that have an effect: Kafka's own, and ours under ``doorkeeper.``.

``docs/configuration.md`` is written from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from doorkeeper.config.values import (
    INT_MAX,
    LONG_MAX,
    KeyType,
    at_least,
    not_blank,
    one_of,
)

if TYPE_CHECKING:
    from doorkeeper.config.values import Check


class Scope(Enum):
    """What may stand before a key: each scope allows what the ones above it allow."""

    SERVER = "nothing"
    LISTENER = "listener.name.<name>."
    MECHANISM = "listener.name.<name>.<mechanism>."


class Applies(Enum):
    """When a new value counts."""

    RESTART = "after a restart"
    RELOAD = "after SIGHUP"
    DYNAMIC = "after SIGHUP, or at once when it is changed over the wire"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key. ``default`` is the text that stands for it where nobody gives it, or None.

    ``importance`` is Kafka's word: HIGH, MEDIUM or LOW. ``declared`` is false for keys that a
    broker hands to its authorizer without declaring them: their values are never described.
    ``since`` is the release from which a new value counts as ``applies`` says.
    """

    name: str
    type: KeyType
    default: str | None
    doc: str
    importance: str = "MEDIUM"
    check: Check | None = None
    scope: Scope = Scope.SERVER
    declared: bool = True
    applies: Applies = Applies.RESTART
    since: str = "0.1.0"

    @property
    def sensitive(self) -> bool:
        """Say whether the value is never shown."""
        return self.type is KeyType.PASSWORD or not self.declared

    @property
    def ours(self) -> bool:
        """Say whether no Kafka broker knows the key."""
        return self.name.startswith("doorkeeper.")


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
        doc="How a principal is made of what a client proved. Only Kafka's default is supported.",
        check=one_of(_PRINCIPAL_BUILDER),
        scope=Scope.LISTENER,
    ),
)

_SASL = (
    Key(
        name="sasl.enabled.mechanisms",
        type=KeyType.LIST,
        default="GSSAPI",
        doc="The SASL mechanisms of a listener. PLAIN is supported.",
        scope=Scope.LISTENER,
    ),
    Key(
        name="sasl.jaas.config",
        type=KeyType.PASSWORD,
        default=None,
        doc=(
            "The users of a mechanism, given as listener.name.<name>.plain.sasl.jaas.config:"
            " org.apache.kafka.common.security.plain.PlainLoginModule required"
            ' user_alice="her password";'
        ),
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.server.callback.handler.class",
        type=KeyType.CLASS,
        default=None,
        doc="A Java class that checks passwords. Not supported: users stand in sasl.jaas.config.",
        check=one_of(""),
        scope=Scope.MECHANISM,
    ),
    Key(
        name="sasl.server.max.receive.size",
        type=KeyType.INT,
        default="524288",
        doc="The largest request, in bytes, before a client has authenticated.",
        check=at_least(1),
    ),
    Key(
        name="connections.max.reauth.ms",
        type=KeyType.LONG,
        default="0",
        doc="How long a session lasts until the client must authenticate again; 0 is no limit.",
        check=at_least(0, LONG_MAX),
        scope=Scope.MECHANISM,
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="connection.failed.authentication.delay.ms",
        type=KeyType.INT,
        default="100",
        doc="How long the answer to a failed authentication is held back.",
        importance="LOW",
        check=at_least(0),
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
        doc="Where ACLs and topics are kept: embedded.",
        importance="HIGH",
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
            "A call of the authorizer's authorize that takes longer is counted, and told in the"
            " log once a minute at most."
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
    for group in (_NODE, _LISTENERS, _AUTHORIZATION, _SASL, _CONNECTIONS, _TOPICS, _OURS)
    for key in group
}
"""All keys that have an effect, by name."""
