"""doorkeeper_wire.layout: the field that cannot be encoded is named."""

from typing import Any, cast

import pytest

from doorkeeper_wire.errors import Unencodable
from doorkeeper_wire.message import Message
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from doorkeeper_wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
)
from doorkeeper_wire.messages.metadata import MetadataResponse, MetadataResponseTopic
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateRequest
from doorkeeper_wire.messages.streams_group_describe import DescribedGroup as StreamsGroup
from doorkeeper_wire.messages.streams_group_describe import (
    Endpoint,
    StreamsGroupDescribeResponse,
)
from doorkeeper_wire.messages.streams_group_describe import Member as StreamsMember


def wrong(message: Message, text: str) -> Any:
    return pytest.param(message, text, id=text)


def creation(**values: Any) -> CreateAclsRequest:
    return CreateAclsRequest(creations=(AclCreation(), AclCreation(**values)))


@pytest.mark.parametrize(
    ("message", "text"),
    [
        wrong(creation(operation=128), "creations.operation: 128 is no int8"),
        wrong(creation(host=None), "creations.host: None where null is not allowed"),
        wrong(creation(host=7), "creations.host: 7 is no text"),
        wrong(creation(host="\ud800"), "creations.host: '\\ud800' holds half of a surrogate pair"),
        wrong(creation(host="é" * 16384), "takes 32768 bytes; at most 32767"),
        wrong(CreateAclsRequest(creations=5), "creations: 5 is no array"),  # type: ignore[arg-type]
        wrong(CreateAclsRequest(creations=(5,)), "is no such struct"),  # type: ignore[arg-type]
        wrong(CreateAclsRequest(creations=None), "creations: null"),  # type: ignore[arg-type]
        wrong(creation(unknown_tags=((3, "x"),)), "creations.unknown_tags: "),
        wrong(SaslAuthenticateRequest(auth_bytes="x"), "is not bytes"),  # type: ignore[arg-type]
        wrong(
            DescribeTopicPartitionsRequest(cursor=Cursor(partition_index=2**31)),
            "cursor.partition_index: 2147483648 is no int32",
        ),
    ],
)
def test_the_field_is_named(message: Message, text: str) -> None:
    """A value of the wrong type or size is refused with its field, whichever it is."""
    with pytest.raises(Unencodable) as caught:
        message.encode(min(message.MAX_VERSION, 2))

    assert text in str(caught.value)


def test_an_id_of_another_length() -> None:
    """A topic id that is not 16 bytes is refused, not cut or filled up."""
    response = MetadataResponse(topics=(MetadataResponseTopic(topic_id=b"short"),))

    with pytest.raises(Unencodable, match=r"topics\.topic_id: b'short' is not 16 bytes"):
        response.encode(12)


def test_a_port_has_sixteen_bits() -> None:
    """And no sign."""
    for port in (-1, 65536):
        endpoint = StreamsMember(user_endpoint=Endpoint(host="h", port=port))
        response = StreamsGroupDescribeResponse(groups=(StreamsGroup(members=(endpoint,)),))

        with pytest.raises(Unencodable, match=rf"user_endpoint\.port: {port} is no uint16"):
            response.encode(0)


def test_a_struct_without_null() -> None:
    """Null has no form on the wire where there is no marker."""
    member: Any = StreamsMember(assignment=cast("Any", None))
    response = StreamsGroupDescribeResponse(groups=(StreamsGroup(members=(member,)),))

    with pytest.raises(Unencodable, match=r"members\.assignment: None is no such struct"):
        response.encode(0)
