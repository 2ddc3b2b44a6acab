"""The keys of Kafka that have an effect with the test broker alone."""

from __future__ import annotations

from typing import Final

from doorkeeper.base.key import integer, text, words
from doorkeeper.base.values import INT_MAX, at_least, one_of

GROUP_MIN_SESSION_TIMEOUT_MS: Final = integer(
    "group.min.session.timeout.ms",
    6_000,
    "The shortest session time-out that a member of a classic group may ask for.",
)
GROUP_MAX_SESSION_TIMEOUT_MS: Final = integer(
    "group.max.session.timeout.ms",
    1_800_000,
    "The longest session time-out that a member of a classic group may ask for.",
)
GROUP_INITIAL_REBALANCE_DELAY_MS: Final = integer(
    "group.initial.rebalance.delay.ms",
    3_000,
    "How long the first rebalance of a classic group waits for further members. It counts where"
    " it is set; else the first rebalance does not wait.",
)
GROUP_MAX_SIZE: Final = integer(
    "group.max.size", INT_MAX, "The members of a classic group.", at_least(1)
)
GROUP_COORDINATOR_REBALANCE_PROTOCOLS: Final = words(
    "group.coordinator.rebalance.protocols",
    "classic,consumer,streams",
    "The protocols of groups: without consumer the newer one (KIP-848) is refused.",
)
GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS: Final = integer(
    "group.consumer.heartbeat.interval.ms",
    5_000,
    "The time between heartbeats of the members of a consumer group.",
    at_least(1),
)
GROUP_CONSUMER_SESSION_TIMEOUT_MS: Final = integer(
    "group.consumer.session.timeout.ms",
    45_000,
    "The session time-out of the members of a consumer group.",
    at_least(1),
)
GROUP_CONSUMER_MAX_SIZE: Final = integer(
    "group.consumer.max.size",
    INT_MAX,
    "The members of a consumer group; never more than 1,000.",
    at_least(1),
)
GROUP_CONSUMER_MIGRATION_POLICY: Final = text(
    "group.consumer.migration.policy",
    "bidirectional",
    "Whether a group with members changes to the newer protocol when a member of that joins"
    " (upgrade), and back when the last of them has gone (downgrade): bidirectional, upgrade,"
    " downgrade or disabled.",
    one_of("bidirectional", "upgrade", "downgrade", "disabled"),
)
GROUP_SHARE_HEARTBEAT_INTERVAL_MS: Final = integer(
    "group.share.heartbeat.interval.ms",
    5_000,
    "The time between heartbeats of the members of a share group.",
    at_least(1),
)
GROUP_SHARE_SESSION_TIMEOUT_MS: Final = integer(
    "group.share.session.timeout.ms",
    45_000,
    "The session time-out of the members of a share group.",
    at_least(1),
)
GROUP_SHARE_MAX_SIZE: Final = integer(
    "group.share.max.size", 200, "The members of a share group.", at_least(1, 1_000)
)
GROUP_SHARE_MAX_SHARE_SESSIONS: Final = integer(
    "group.share.max.share.sessions",
    2_000,
    "The sessions in which members of all share groups fetch.",
    at_least(1),
)
GROUP_SHARE_RECORD_LOCK_DURATION_MS: Final = integer(
    "group.share.record.lock.duration.ms",
    30_000,
    "How long a member of a share group has the records that it acquires.",
    at_least(1_000, 3_600_000),
)
GROUP_SHARE_DELIVERY_COUNT_LIMIT: Final = integer(
    "group.share.delivery.count.limit",
    5,
    "How often a record is delivered to a share group.",
    at_least(2, 10),
)
GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS: Final = integer(
    "group.share.partition.max.record.locks",
    2_000,
    "The records of a partition that a share group has acquired and not dealt with.",
    at_least(100, 10_000),
)
TRANSACTION_MAX_TIMEOUT_MS: Final = integer(
    "transaction.max.timeout.ms",
    900_000,
    "The longest time-out of transactions that a producer may ask for.",
    at_least(1),
)
FETCH_MAX_BYTES: Final = integer(
    "fetch.max.bytes",
    57_671_680,
    "The most bytes of records in an answer to Fetch.",
    at_least(1_024),
)
