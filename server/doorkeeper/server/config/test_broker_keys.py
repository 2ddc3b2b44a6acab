"""The keys of Kafka that have an effect with the test broker alone."""

from __future__ import annotations

from typing import Final

from doorkeeper.base.key import integer, text, words
from doorkeeper.base.values import INT_MAX, at_least, one_of

GROUP_MIN_SESSION_TIMEOUT_MS: Final = integer(
    "group.min.session.timeout.ms",
    6_000,
    "The minimum session timeout that a member of a classic group may request.",
)
GROUP_MAX_SESSION_TIMEOUT_MS: Final = integer(
    "group.max.session.timeout.ms",
    1_800_000,
    "The maximum session timeout that a member of a classic group may request.",
)
GROUP_INITIAL_REBALANCE_DELAY_MS: Final = integer(
    "group.initial.rebalance.delay.ms",
    3_000,
    "How long the first rebalance of a classic group waits for more members. By default it does"
    " not wait.",
)
GROUP_MAX_SIZE: Final = integer(
    "group.max.size", INT_MAX, "The maximum number of members of a classic group.", at_least(1)
)
GROUP_COORDINATOR_REBALANCE_PROTOCOLS: Final = words(
    "group.coordinator.rebalance.protocols",
    "classic,consumer,streams",
    "The enabled group protocols: without consumer, the new protocol (KIP-848) is rejected.",
)
GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS: Final = integer(
    "group.consumer.heartbeat.interval.ms",
    5_000,
    "The heartbeat interval of members of a consumer group.",
    at_least(1),
)
GROUP_CONSUMER_SESSION_TIMEOUT_MS: Final = integer(
    "group.consumer.session.timeout.ms",
    45_000,
    "The session timeout of the members of a consumer group.",
    at_least(1),
)
GROUP_CONSUMER_MAX_SIZE: Final = integer(
    "group.consumer.max.size",
    INT_MAX,
    "The maximum number of members of a consumer group; at most 1,000.",
    at_least(1),
)
GROUP_CONSUMER_MIGRATION_POLICY: Final = text(
    "group.consumer.migration.policy",
    "bidirectional",
    "Whether a non-empty classic group is converted when a member with the consumer protocol joins"
    " (upgrade), and back when the last such member leaves (downgrade): bidirectional, upgrade,"
    " downgrade or disabled.",
    one_of("bidirectional", "upgrade", "downgrade", "disabled"),
)
GROUP_SHARE_HEARTBEAT_INTERVAL_MS: Final = integer(
    "group.share.heartbeat.interval.ms",
    5_000,
    "The heartbeat interval of members of a share group.",
    at_least(1),
)
GROUP_SHARE_SESSION_TIMEOUT_MS: Final = integer(
    "group.share.session.timeout.ms",
    45_000,
    "The session timeout of the members of a share group.",
    at_least(1),
)
GROUP_SHARE_MAX_SIZE: Final = integer(
    "group.share.max.size",
    200,
    "The maximum number of members of a share group.",
    at_least(1, 1_000),
)
GROUP_SHARE_MAX_SHARE_SESSIONS: Final = integer(
    "group.share.max.share.sessions",
    2_000,
    "The maximum number of share sessions.",
    at_least(1),
)
GROUP_SHARE_RECORD_LOCK_DURATION_MS: Final = integer(
    "group.share.record.lock.duration.ms",
    30_000,
    "The duration of the acquisition lock of a record in a share group.",
    at_least(1_000, 3_600_000),
)
GROUP_SHARE_DELIVERY_COUNT_LIMIT: Final = integer(
    "group.share.delivery.count.limit",
    5,
    "The maximum number of deliveries of a record to a share group.",
    at_least(2, 10),
)
GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS: Final = integer(
    "group.share.partition.max.record.locks",
    2_000,
    "The maximum number of acquired records of a partition in a share group.",
    at_least(100, 10_000),
)
TRANSACTION_MAX_TIMEOUT_MS: Final = integer(
    "transaction.max.timeout.ms",
    900_000,
    "The maximum transaction timeout that a producer may request.",
    at_least(1),
)
FETCH_MAX_BYTES: Final = integer(
    "fetch.max.bytes",
    57_671_680,
    "The maximum size of the records in a Fetch response.",
    at_least(1_024),
)
