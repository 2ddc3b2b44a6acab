"""doorkeeper_wire.message: messages are values."""

import copy
import pickle

import pytest

from doorkeeper_wire.declared.contents import MODULES
from doorkeeper_wire.errors import Unsupported
from doorkeeper_wire.message import NEVER, Message
from doorkeeper_wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateRequest
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest
from testkit.wire_values import message_class

EVERY_MESSAGE = pytest.mark.parametrize("kind", [message_class(name) for name in MODULES])


@EVERY_MESSAGE
def test_every_field_has_a_default(kind: type[Message]) -> None:
    """A message can be made of nothing, and is then what it decodes to in every version."""
    message = kind()

    for version in range(kind.MIN_VERSION, kind.MAX_VERSION + 1):
        assert kind.decode(message.encode(version), 0, version)[0] == message


@EVERY_MESSAGE
def test_messages_do_not_change(kind: type[Message]) -> None:
    """No field can be set or deleted, and none added."""
    message = kind()

    for name in (*kind.FIELDS, "anything"):
        with pytest.raises(AttributeError, match="messages do not change"):
            setattr(message, name, 1)
        with pytest.raises(AttributeError, match="messages do not change"):
            delattr(message, name)
    assert not hasattr(message, "__dict__")


def test_equality() -> None:
    """Messages are equal when their type and fields are, and may be keys of a dictionary."""
    one = CreateAclsRequest(creations=(AclCreation(host="*"),))
    same = CreateAclsRequest(creations=(AclCreation(host="*"),))

    assert one == same
    assert hash(one) == hash(same)
    assert one != CreateAclsRequest()
    assert one != "something else"
    assert AclCreation() != SaslHandshakeRequest()


def test_decoded_and_made_are_one_type() -> None:
    """A decoded message is of the same class as one that was made."""
    made = CreateAclsRequest(creations=(AclCreation(host="*"),))

    decoded = CreateAclsRequest.decode(made.encode(3), 0, 3)[0]

    assert type(decoded) is type(made)
    assert type(decoded.creations[0]) is AclCreation


def test_copies() -> None:
    """A message can be copied, pickled, and taken with changes."""
    message = CreateAclsRequest(creations=(AclCreation(host="*"),))

    assert copy.copy(message) is message
    assert copy.deepcopy(message) is message
    assert pickle.loads(pickle.dumps(message)) == message
    assert message.replace(creations=()) == CreateAclsRequest()
    with pytest.raises(TypeError):
        message.replace(nothing=1)


def test_shown_by_its_fields() -> None:
    """The text of a message names its fields."""
    assert (
        repr(SaslHandshakeRequest(mechanism="PLAIN")) == "SaslHandshakeRequest(mechanism='PLAIN')"
    )


def test_only_keywords() -> None:
    """Fields are given by name."""
    with pytest.raises(TypeError):
        SaslHandshakeRequest("PLAIN")  # type: ignore[call-arg]


@pytest.mark.parametrize("version", [-1, 4, 32767, -32768])
def test_versions_that_are_none(version: int) -> None:
    """A version that the message does not have is refused both ways."""
    with pytest.raises(Unsupported, match="there are 0 to 3"):
        CreateAclsRequest().encode(version)
    with pytest.raises(Unsupported, match="there are 0 to 3"):
        CreateAclsRequest.decode(b"", 0, version)


def test_constants() -> None:
    """Requests say their API, versions and the first flexible one."""
    assert CreateAclsRequest.API_KEY == 30
    assert (CreateAclsRequest.MIN_VERSION, CreateAclsRequest.MAX_VERSION) == (0, 3)
    assert CreateAclsRequest.FLEXIBLE_FROM == 2
    assert SaslHandshakeRequest.FLEXIBLE_FROM == NEVER


def test_secrets_are_not_shown() -> None:
    """What would let a reader log in is hidden in every message that carries it; names are not."""
    upsertion = ScramCredentialUpsertion(name="alice", salt=b"grain", salted_password=b"word")
    request = AlterUserScramCredentialsRequest(upsertions=(upsertion,))

    assert "name='alice'" in repr(request)
    assert "salted_password=<hidden>" in repr(request)
    assert "grain" not in repr(request)
    assert "word'" not in repr(SaslAuthenticateRequest(auth_bytes=b"word"))
