"""The roles that every file knows: the permissions of Kafka's usual programs.

Producers and consumers get exactly the ACLs of ``kafka-acls.sh --producer`` and ``--consumer``.
Elsewhere implied operations, such as DESCRIBE beside READ, are left out.

Source: ``AclCommand`` (4.3.1); Kafka's documentation: "Authorization and ACLs" (Streams), KIP-618
and KIP-875 (Connect), KIP-382 (MirrorMaker), KIP-932 (share groups); Confluent's documentation of
Schema Registry.
"""

from __future__ import annotations

from typing import Any, Final

from doorkeeper.acls.formats.roles import Role

_PREFIXED: Final = "PREFIXED"
_PRODUCED: Final = ("DESCRIBE", "WRITE", "CREATE")
_CONSUMED: Final = ("DESCRIBE", "READ")
_TRANSACTIONS: Final = ("DESCRIBE", "WRITE")
# A worker reads its topics' configuration, and refuses one that is not compacted.
_KEPT: Final = ("READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")


def _acl(resource: str, name: str, *operations: str, pattern: str | None = None) -> dict[str, Any]:
    row: dict[str, Any] = {"resourceType": resource, "name": name, "operation": list(operations)}
    return row if pattern is None else {**row, "patternType": pattern}


_PRODUCER: Final = _acl("TOPIC", "${topic}", *_PRODUCED)
_CONSUMER: Final = Role(
    ("topic", "group"),
    {},
    (_acl("TOPIC", "${topic}", *_CONSUMED), _acl("GROUP", "${group}", "READ")),
)

BUILT_IN: Final[dict[str, Role]] = {
    "producer": Role(("topic",), {}, (_PRODUCER,)),
    "idempotent-producer": Role(
        ("topic",), {}, (_PRODUCER, _acl("CLUSTER", "kafka-cluster", "IDEMPOTENT_WRITE"))
    ),
    "transactional-producer": Role(
        ("topic", "transactionalId"),
        {},
        (_PRODUCER, _acl("TRANSACTIONAL_ID", "${transactionalId}", *_TRANSACTIONS)),
    ),
    "consumer": _CONSUMER,
    "share-consumer": _CONSUMER,
    # Internal topics, groups and transactional ids begin with the application id.
    "streams-application": Role(
        ("applicationId", "input"),
        {"output": None},
        (
            _acl("TOPIC", "${input}", *_CONSUMED),
            _acl("TOPIC", "${output}", *_TRANSACTIONS),
            _acl("TOPIC", "${applicationId}", "ALL", pattern=_PREFIXED),
            _acl("GROUP", "${applicationId}", "ALL", pattern=_PREFIXED),
            _acl("TRANSACTIONAL_ID", "${applicationId}", *_TRANSACTIONS, pattern=_PREFIXED),
        ),
    ),
    "connect-worker": Role(
        ("group", "configTopic", "offsetTopic", "statusTopic"),
        {},
        (
            _acl("GROUP", "${group}", "READ"),
            _acl("TOPIC", "${configTopic}", *_KEPT),
            _acl("TOPIC", "${offsetTopic}", *_KEPT),
            _acl("TOPIC", "${statusTopic}", *_KEPT),
            # The leader fences old ones with it, for exactly-once sources.
            _acl("TRANSACTIONAL_ID", "connect-cluster-${group}", *_TRANSACTIONS),
        ),
    ),
    "connect-connector": Role(
        ("connector",),
        {"source": None, "sink": None, "workerGroup": None},
        (
            _acl("TOPIC", "${source}", *_PRODUCED),
            _acl("TOPIC", "${sink}", *_CONSUMED),
            _acl("GROUP", "connect-${connector}", "READ"),
            _acl(
                "TRANSACTIONAL_ID",
                "${workerGroup}-${connector}-",
                *_TRANSACTIONS,
                pattern=_PREFIXED,
            ),
        ),
    ),
    # At the cluster that is read; the topic with offsets is there by default.
    "mirror-maker-source": Role(
        ("topic", "target"),
        {"group": None},
        (
            _acl("TOPIC", "${topic}", "READ", "DESCRIBE_CONFIGS"),
            _acl("GROUP", "${group}", "DESCRIBE"),
            _acl("TOPIC", "mm2-offset-syncs.${target}.internal", *_KEPT),
            # The ACLs of topics are mirrored too (sync.topic.acls.enabled).
            _acl("CLUSTER", "kafka-cluster", "DESCRIBE"),
        ),
    ),
    # At the cluster that is written: topics get the name of the source and a dot in front.
    "mirror-maker-target": Role(
        ("source",),
        {"group": None},
        (
            _acl(
                "TOPIC",
                "${source}.",
                *("READ", "WRITE", "CREATE", "ALTER", "ALTER_CONFIGS"),
                pattern=_PREFIXED,
            ),
            _acl("TOPIC", "heartbeats", *_KEPT),
            _acl("TOPIC", "mm2-configs.${source}.internal", *_KEPT),
            _acl("TOPIC", "mm2-offsets.${source}.internal", *_KEPT),
            _acl("TOPIC", "mm2-status.${source}.internal", *_KEPT),
            _acl("GROUP", "${source}-mm2", "READ"),
            # The offsets of mirrored groups are committed (sync.group.offsets.enabled).
            _acl("GROUP", "${group}", "READ"),
        ),
    ),
    "schema-registry": Role(
        (),
        {"topic": "_schemas", "group": "schema-registry"},
        (
            _acl("TOPIC", "${topic}", *_KEPT),
            _acl("GROUP", "${group}", "READ"),
            _acl("TOPIC", "__consumer_offsets", "DESCRIBE"),
        ),
    ),
}
"""The built-in roles by their names."""
