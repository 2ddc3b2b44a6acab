"""The messages of classic consumer groups, which members exchange through the coordinator.

For the coordinator these are opaque bytes: the metadata and the assignment of a member, as
DescribeGroups returns them. Consumers write a version as int16, then the message in it. A reader
that knows only lower versions reads its highest one, since later ones append fields.

Source: ConsumerProtocol of kafka-clients.
"""

from struct import Struct

from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from doorkeeper_wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription

__all__ = [
    "ConsumerProtocolAssignment",
    "ConsumerProtocolSubscription",
    "decode_assignment",
    "decode_subscription",
    "encode_assignment",
    "encode_subscription",
]

_VERSION = Struct(">h")


def encode_subscription(subscription: ConsumerProtocolSubscription, version: int) -> bytes:
    """Return the metadata of a member: the version, then the subscription.

    Raises:
        Unencodable: a field cannot carry its value.
        Unsupported: there is no such version.
    """
    return _VERSION.pack(version) + subscription.encode(version)


def decode_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """Return the subscription in the metadata of a member.

    Raises:
        Malformed: the bytes are not a subscription.
    """
    version = _read_version(data, ConsumerProtocolSubscription.MAX_VERSION)
    return ConsumerProtocolSubscription.decode(data, _VERSION.size, version)[0]


def encode_assignment(assignment: ConsumerProtocolAssignment, version: int) -> bytes:
    """Return the assignment of a member: the version, then the assigned partitions.

    Raises:
        Unencodable: a field cannot carry its value.
        Unsupported: there is no such version.
    """
    return _VERSION.pack(version) + assignment.encode(version)


def decode_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """Return the assignment of a member.

    Raises:
        Malformed: the bytes are not an assignment.
    """
    version = _read_version(data, ConsumerProtocolAssignment.MAX_VERSION)
    return ConsumerProtocolAssignment.decode(data, _VERSION.size, version)[0]


def _read_version(data: bytes, version_max: int) -> int:
    """Read the version; one above the highest known one is read as that."""
    if len(data) < _VERSION.size:
        raise Malformed("version", 0, f"needs 2 bytes, {len(data)} are there")
    version: int = _VERSION.unpack_from(data)[0]
    if version < 0:
        raise Malformed("version", 0, f"version {version}; at least 0")
    return min(version, version_max)
