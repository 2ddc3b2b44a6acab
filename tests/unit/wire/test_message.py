"""Messages are values; members of the consumer protocol are messages."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper_wire import consumer_protocol
from doorkeeper_wire.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from doorkeeper_wire.errors import Malformed, Unsupported
from doorkeeper_wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from doorkeeper_wire.messages.consumer_protocol_assignment import TopicPartition
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateRequest
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest
from testkit.wire_values import message_class, message_names

if TYPE_CHECKING:
    from doorkeeper_wire.message import Message

EVERY_MESSAGE = pytest.mark.parametrize("kind", [message_class(name) for name in message_names()])


@EVERY_MESSAGE
def test_every_field_has_a_default(kind: type[Message]) -> None:
    """A message can be made of nothing, and is then what it decodes to in every version."""
    message = kind()

    for version in range(kind.MIN_VERSION, kind.MAX_VERSION + 1):
        assert kind.decode(message.encode(version), 0, version)[0] == message


def test_messages_are_values() -> None:
    """Equal by type and fields, hashable, picklable and copied with changes, never changed."""
    message: Any = CreateAclsRequest(creations=(AclCreation(host="*"),))

    assert message == CreateAclsRequest(creations=(AclCreation(host="*"),))
    assert hash(message) == hash(copy.deepcopy(message))
    assert pickle.loads(pickle.dumps(message)) == message
    assert message.replace(creations=()) == CreateAclsRequest() != message
    assert message != SaslHandshakeRequest()
    with pytest.raises(AttributeError, match="immutable"):
        message.creations = ()
    with pytest.raises(AttributeError, match="immutable"):
        del message.creations
    with pytest.raises(TypeError):
        message.replace(nothing=1)


@pytest.mark.parametrize("version", [-1, 4])
def test_unsupported_versions_are_rejected(version: int) -> None:
    with pytest.raises(Unsupported, match="there are 0 to 3"):
        CreateAclsRequest().encode(version)
    with pytest.raises(Unsupported, match="there are 0 to 3"):
        CreateAclsRequest.decode(b"", 0, version)


def test_repr_hides_secrets() -> None:
    upsertion = ScramCredentialUpsertion(name="alice", salt=b"grain", salted_password=b"word")
    request = AlterUserScramCredentialsRequest(upsertions=(upsertion,))

    assert "name='alice'" in repr(request)
    assert "salted_password=<hidden>" in repr(request)
    assert "grain" not in repr(request)
    assert "word'" not in repr(SaslAuthenticateRequest(auth_bytes=b"word"))


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
def test_malformed_bytes_are_rejected(data: bytes) -> None:
    with pytest.raises(Malformed):
        consumer_protocol.decode_assignment(data)
    with pytest.raises(Malformed):
        consumer_protocol.decode_subscription(data)


def test_unsupported_versions_are_not_written() -> None:
    with pytest.raises(Unsupported):
        consumer_protocol.encode_assignment(ASSIGNMENT, 4)
