"""doorkeeper_wire.consumer_protocol."""

import pytest

from doorkeeper_wire import consumer_protocol
from doorkeeper_wire.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from doorkeeper_wire.errors import Malformed, Unsupported
from doorkeeper_wire.messages.consumer_protocol_assignment import TopicPartition

ASSIGNMENT = ConsumerProtocolAssignment(
    assigned_partitions=(TopicPartition(topic="orders", partitions=(0, 2)),)
)


@pytest.mark.parametrize("version", [0, 3])
def test_subscriptions(version: int) -> None:
    """A subscription comes back as it was, whatever its version."""
    subscription = ConsumerProtocolSubscription(topics=("a", "b"), user_data=b"x")

    encoded = consumer_protocol.encode_subscription(subscription, version)

    assert encoded[:2] == bytes([0, version])
    assert consumer_protocol.decode_subscription(encoded) == subscription


def test_later_versions_are_read_as_the_last_known() -> None:
    """A version above ours is read as ours; what it adds is left alone."""
    encoded = b"\x00\x09" + ASSIGNMENT.encode(3) + b"more"

    assert consumer_protocol.decode_assignment(encoded) == ASSIGNMENT


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff\xff", b"\x00\x00\x00"])
def test_bad_bytes(data: bytes) -> None:
    """Bytes that are neither are Malformed."""
    with pytest.raises(Malformed):
        consumer_protocol.decode_assignment(data)
    with pytest.raises(Malformed):
        consumer_protocol.decode_subscription(data)


def test_versions_to_write() -> None:
    """A version that does not exist is not written."""
    with pytest.raises(Unsupported):
        consumer_protocol.encode_assignment(ASSIGNMENT, 4)
