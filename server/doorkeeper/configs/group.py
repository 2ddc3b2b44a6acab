"""Configurations of groups and client metrics, all at their defaults.

They have no effect and cannot be changed; tools that list a group's configuration get the defaults
of a new broker.

Source: the broker's ``GroupConfig`` and ``ClientMetricsConfigs`` (4.3.1).
"""

from __future__ import annotations

from typing import NamedTuple

from doorkeeper.config.values import KeyType


class FixedConfig(NamedTuple):
    """A setting. ``synonym`` is the server's key of its default, or None."""

    name: str
    type: KeyType
    value: str
    synonym: str | None
    doc: str


def _of_group(name: str, value: str, doc: str, key_type: KeyType = KeyType.INT) -> FixedConfig:
    return FixedConfig(name, key_type, value, f"group.{name}", doc)


_SESSION = "After how long without a heartbeat a member is taken for dead."
_HEARTBEAT = "How often members send heartbeats."
_ASSIGNMENT = "How long at least lies between two assignments."

GROUP_CONFIGS = (
    _of_group("consumer.assignment.interval.ms", "1000", _ASSIGNMENT),
    _of_group("consumer.heartbeat.interval.ms", "5000", _HEARTBEAT),
    _of_group("consumer.session.timeout.ms", "45000", _SESSION),
    _of_group("share.assignment.interval.ms", "1000", _ASSIGNMENT),
    FixedConfig(
        "share.auto.offset.reset",
        KeyType.STRING,
        "latest",
        "share.auto.offset.reset",
        "Where a new share group begins to read.",
    ),
    _of_group("share.delivery.count.limit", "5", "How often a record is delivered at most."),
    _of_group("share.heartbeat.interval.ms", "5000", _HEARTBEAT),
    FixedConfig(
        "share.isolation.level",
        KeyType.STRING,
        "read_uncommitted",
        "share.isolation.level",
        "Whether records of open transactions are delivered.",
    ),
    _of_group(
        "share.partition.max.record.locks", "2000", "How many records may be locked at once."
    ),
    _of_group("share.record.lock.duration.ms", "30000", "For how long a record is locked."),
    FixedConfig(
        "share.renew.acknowledge.enable",
        KeyType.BOOLEAN,
        "true",
        "share.renew.acknowledge.enable",
        "Whether a member may prolong the lock of a record.",
    ),
    _of_group("share.session.timeout.ms", "45000", _SESSION),
    _of_group("streams.assignment.interval.ms", "1000", _ASSIGNMENT),
    _of_group("streams.heartbeat.interval.ms", "5000", _HEARTBEAT),
    _of_group(
        "streams.initial.rebalance.delay.ms", "3000", "How long a new group waits for members."
    ),
    _of_group("streams.num.standby.replicas", "0", "How many standby copies each task has."),
    _of_group("streams.session.timeout.ms", "45000", _SESSION),
)
"""The settings of a group, sorted by name."""

CLIENT_METRICS_CONFIGS = (
    FixedConfig(
        "interval.ms", KeyType.INT, "300000", None, "How often clients push their metrics."
    ),
    FixedConfig("match", KeyType.LIST, "", None, "Which clients are meant; empty for all."),
    FixedConfig("metrics", KeyType.LIST, "", None, "Which metrics are wanted; empty for none."),
)
"""The settings of a metrics subscription, sorted by name."""
