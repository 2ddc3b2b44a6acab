"""Calls every method of confluent-kafka's AdminClient; takes the server's address."""

import itertools
import sys

from calls import Calls, until
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ElectionType,
    IsolationLevel,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

admin = AdminClient({"bootstrap.servers": sys.argv[1], "socket.timeout.ms": 5000})
numbers = itertools.count()


def binding(kind, name, principal="User:alice"):
    """Return an ACL, or a filter, of a topic."""
    literal = ResourcePatternType.LITERAL
    read, allow = AclOperation.READ, AclPermissionType.ALLOW
    return kind(ResourceType.TOPIC, name, literal, principal, "*", read, allow)


def settled():
    """Create an ACL and delete it: whatever was changed before is in force then."""
    name = f"barrier-{next(numbers)}"
    mark = binding(AclBindingFilter, name, "User:barrier")
    for future in admin.create_acls([binding(AclBinding, name, "User:barrier")]).values():
        future.result()
    until(lambda: admin.describe_acls(mark).result())
    for future in admin.delete_acls([mark]).values():
        future.result()
    until(lambda: not admin.describe_acls(mark).result())


def entry(name, value, operation=AlterConfigOpType.SET):
    """Return a change of one key."""
    return ConfigEntry(name, value, incremental_operation=operation)


calls = Calls(admin, settled)
ask, change = calls.ask, calls.change

change("create_topics", lambda: calls.create_topics([NewTopic("a", 2, 1), NewTopic("b", 1, 1)]))
change("create_topics: one that exists", lambda: calls.create_topics([NewTopic("a", 1, 1)]))
change("create_topics: too many replicas", lambda: calls.create_topics([NewTopic("c", 1, 2)]))
ask(
    "create_topics: validation only",
    lambda: calls.create_topics([NewTopic("c", 1, 1)], validate_only=True),
)
ask(
    "list_topics",
    lambda: sorted(name for name in calls.list_topics(timeout=10).topics if name in "ab"),
)
ask(
    "describe_topics",
    lambda: calls.describe_topics(TopicCollection(["a", "b"]), include_authorized_operations=True),
)
ask("describe_topics: unknown", lambda: calls.describe_topics(TopicCollection(["none"])))
change("create_partitions", lambda: calls.create_partitions([NewPartitions("a", 3)]))
change("create_partitions: fewer", lambda: calls.create_partitions([NewPartitions("a", 2)]))
change("create_partitions: unknown", lambda: calls.create_partitions([NewPartitions("none", 2)]))
change("delete_topics", lambda: calls.delete_topics(["b"]))
change("delete_topics: unknown", lambda: calls.delete_topics(["none"]))
ask("describe_cluster", lambda: calls.describe_cluster(include_authorized_operations=True))
ask("cluster_id", lambda: len(calls.cluster_id(timeout=10)))

topic = ResourceType.TOPIC
retention = entry("retention.ms", "1000")
change(
    "incremental_alter_configs",
    lambda: calls.incremental_alter_configs(
        [ConfigResource(topic, "a", incremental_configs=[retention])]
    ),
)
change(
    "incremental_alter_configs: an unknown key",
    lambda: calls.incremental_alter_configs(
        [ConfigResource(topic, "a", incremental_configs=[entry("no.such.key", "1")])]
    ),
)
change(
    "incremental_alter_configs: of a broker",
    lambda: calls.incremental_alter_configs(
        [
            ConfigResource(
                ResourceType.BROKER,
                "1",
                incremental_configs=[entry("message.max.bytes", "2000000")],
            )
        ]
    ),
)
change(
    "incremental_alter_configs: deletion",
    lambda: calls.incremental_alter_configs(
        [
            ConfigResource(
                ResourceType.BROKER,
                "1",
                incremental_configs=[entry("message.max.bytes", None, AlterConfigOpType.DELETE)],
            )
        ]
    ),
)
ask("describe_configs", lambda: calls.describe_configs([ConfigResource(topic, "a")]))
ask("describe_configs: unknown", lambda: calls.describe_configs([ConfigResource(topic, "none")]))
change(
    "alter_configs",
    lambda: calls.alter_configs(
        [ConfigResource(topic, "a", set_config={"segment.bytes": "2000000"})]
    ),
)

change("create_acls", lambda: calls.create_acls([binding(AclBinding, "a")]))
ask("describe_acls", lambda: calls.describe_acls(binding(AclBindingFilter, "a")))
change("delete_acls", lambda: calls.delete_acls([binding(AclBindingFilter, "a")]))

ask(
    "list_offsets",
    lambda: calls.list_offsets(
        {
            TopicPartition("a", 0): OffsetSpec.latest(),
            TopicPartition("a", 1): OffsetSpec.earliest(),
        },
        isolation_level=IsolationLevel.READ_COMMITTED,
    ),
)
ask(
    "list_offsets: by time, of the greatest time",
    lambda: calls.list_offsets(
        {
            TopicPartition("a", 0): OffsetSpec.for_timestamp(1),
            TopicPartition("a", 1): OffsetSpec.max_timestamp(),
        }
    ),
)
ask("delete_records", lambda: calls.delete_records([TopicPartition("a", 0, 0)]))
ask("delete_records: beyond the end", lambda: calls.delete_records([TopicPartition("a", 0, 5)]))
ask(
    "elect_leaders",
    lambda: calls.elect_leaders(ElectionType.PREFERRED, [TopicPartition("a", 0)]),
)


def group_offsets(group, *offsets):
    """Return offsets of the topic "a" for a group."""
    parts = [TopicPartition("a", index, offset) for index, offset in enumerate(offsets)]
    return [ConsumerGroupTopicPartitions(group, parts)]


change(
    "alter_consumer_group_offsets",
    lambda: calls.alter_consumer_group_offsets(group_offsets("g", 0, 3)),
)
ask(
    "list_consumer_group_offsets",
    lambda: calls.list_consumer_group_offsets([ConsumerGroupTopicPartitions("g")]),
)
ask("list_consumer_groups", calls.list_consumer_groups)
ask(
    "list_consumer_groups: of some states",
    lambda: calls.list_consumer_groups(states={ConsumerGroupState.EMPTY}),
)
ask("list_groups", lambda: calls.list_groups(timeout=10))
ask(
    "describe_consumer_groups",
    lambda: calls.describe_consumer_groups(["g"], include_authorized_operations=True),
)
ask("describe_consumer_groups: unknown", lambda: calls.describe_consumer_groups(["none"]))
change("delete_consumer_groups", lambda: calls.delete_consumer_groups(["g"]))
change("delete_consumer_groups: unknown", lambda: calls.delete_consumer_groups(["none"]))

info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
change(
    "alter_user_scram_credentials",
    lambda: calls.alter_user_scram_credentials(
        [UserScramCredentialUpsertion("u", info, b"secret", b"salt")]
    ),
)
ask("describe_user_scram_credentials", lambda: calls.describe_user_scram_credentials(["u"]))
ask(
    "describe_user_scram_credentials: unknown", lambda: calls.describe_user_scram_credentials(["v"])
)
change(
    "alter_user_scram_credentials: deletion",
    lambda: calls.alter_user_scram_credentials(
        [UserScramCredentialDeletion("u", ScramMechanism.SCRAM_SHA_256)]
    ),
)
change(
    "alter_user_scram_credentials: deletion of none",
    lambda: calls.alter_user_scram_credentials(
        [UserScramCredentialDeletion("u", ScramMechanism.SCRAM_SHA_256)]
    ),
)
ask("poll", lambda: calls.poll(0) >= 0)
ask("set_sasl_credentials", lambda: calls.set_sasl_credentials("u", "secret"))
change("delete_topics: the last", lambda: calls.delete_topics(["a"]))
calls.tell_missing()
