"""The bytes of consumer group members: a version, then a message of that version.

Version 0 is written: every client reads it.

Source: ``ConsumerProtocolSubscription`` and ``ConsumerProtocolAssignment`` of the Java client.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

from doorkeeper_wire.messages.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from doorkeeper_wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription

VERSION = 0
_PREFIX = struct.pack(">h", VERSION)


def subscription_bytes(topics: Iterable[str]) -> bytes:
    """Return the metadata of a member that subscribes to these topics."""
    return _PREFIX + ConsumerProtocolSubscription(topics=tuple(topics)).encode(VERSION)


def assignment_bytes(partitions: Mapping[str, Sequence[int]]) -> bytes:
    """Return the assignment of a member with these partitions by topic."""
    assigned = tuple(
        TopicPartition(topic=topic, partitions=tuple(indexes))
        for topic, indexes in partitions.items()
    )
    return _PREFIX + ConsumerProtocolAssignment(assigned_partitions=assigned).encode(VERSION)
