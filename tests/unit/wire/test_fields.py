"""doorkeeper_wire.declared.fields."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper_wire.declared.fields import FieldReader
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse, SupportedFeatureKey
from doorkeeper_wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateRequest
from testkit.sample_frames import DESCRIBED


def read(message: str, version: int, data: bytes, offset: int = 0) -> list[tuple[Any, ...]]:
    """Return offset, path, type and value of each field."""
    fields = FieldReader(data, offset).read(message, version)
    return [(field.offset, field.path, field.type, field.value) for field in fields]


def test_fields_with_their_offsets() -> None:
    """Arrays and structs come before their contents, and paths lead through both."""
    assert read("DescribeAclsResponse", 3, DESCRIBED, 9) == [
        (9, "ThrottleTimeMs", "int32", 0),
        (13, "ErrorCode", "int16", 0),
        (15, "ErrorMessage", "string", ""),
        (16, "Resources", "array", 1),
        (17, "Resources[0]", "struct", None),
        (17, "Resources[0].ResourceType", "int8", 2),
        (18, "Resources[0].ResourceName", "string", "orders"),
        (25, "Resources[0].PatternType", "int8", 3),
        (26, "Resources[0].Acls", "array", 1),
        (27, "Resources[0].Acls[0]", "struct", None),
        (27, "Resources[0].Acls[0].Principal", "string", "User:alice"),
        (38, "Resources[0].Acls[0].Host", "string", "*"),
        (40, "Resources[0].Acls[0].Operation", "int8", 3),
        (41, "Resources[0].Acls[0].PermissionType", "int8", 3),
    ]


def test_messages_that_follow_each_other() -> None:
    """One reader goes on where the message before ended."""
    reader = FieldReader(b"\0\0\0\7\0\5PLAIN?")

    assert [field.value for field in reader.read("ResponseHeader", 0)] == [7]
    assert [field.value for field in reader.read("SaslHandshakeRequest", 1)] == ["PLAIN"]
    assert reader.position == 11


def test_nullable_structs() -> None:
    """A struct that may be null is one or the other, told by its first byte."""
    message = DescribeTopicPartitionsRequest(
        topics=(TopicRequest(name="t"),), cursor=Cursor(topic_name="t", partition_index=4)
    )

    found = read("DescribeTopicPartitionsRequest", 0, message.encode(0))
    empty = read("DescribeTopicPartitionsRequest", 0, message.replace(cursor=None).encode(0))

    assert found[-3:] == [
        (8, "Cursor", "struct", None),
        (9, "Cursor.TopicName", "string", "t"),
        (11, "Cursor.PartitionIndex", "int32", 4),
    ]
    assert empty[-1] == (8, "Cursor", "null", None)


def test_tagged_fields() -> None:
    """Known ones have their names, others their tags; nothing is told where there are none."""
    feature = SupportedFeatureKey(name="f", min_version=0, max_version=1)
    message = ApiVersionsResponse(
        supported_features=(feature,), unknown_tags=((77, b"\1\2"),)
    ).encode(3)

    found = read("ApiVersionsResponse", 3, message)

    assert ("TaggedFields", "array", 2) in [each[1:] for each in found]
    assert ("SupportedFeatures[0].Name", "string", "f") in [each[1:] for each in found]
    assert found[-1][1:] == ("TaggedFields[77]", "bytes", b"\1\2")


def test_secret_fields_are_marked() -> None:
    """What the generated class hides is secret here too."""
    data = SaslAuthenticateRequest(auth_bytes=b"abc").encode(2)

    (field,) = FieldReader(data).read("SaslAuthenticateRequest", 2)

    assert (field.value, field.secret) == (b"abc", True)


@pytest.mark.parametrize(
    ("message", "version", "data", "field", "offset", "reason"),
    [
        ("SaslHandshakeRequest", 1, "00", "Mechanism", 0, "needs more than the 1 bytes left"),
        ("SaslHandshakeRequest", 1, "000961", "Mechanism", 0, "9 announced, 1 bytes are left"),
        ("SaslHandshakeRequest", 1, "ffff", "Mechanism", 0, "null, where null is not allowed"),
        ("ResponseHeader", 0, "000001", "CorrelationId", 0, "needs more than the 3 bytes left"),
        ("ResponseHeader", 1, "0000000701", "TaggedFields", 5, "needs more than the 0 bytes left"),
        ("ResponseHeader", 1, "0000000701000961", "TaggedFields", 5, "9 announced, 1 bytes are"),
        ("CreateAclsRequest", 0, "7fffffff00", "Creations", 0, "2147483647 announced, 1 bytes"),
        ("DescribeTopicPartitionsRequest", 0, "0100000000", "Cursor", 5, "needs more than the 0"),
    ],
)
def test_faults(
    message: str, version: int, data: str, field: str, offset: int, reason: str
) -> None:
    """The field, where it begins, and what is wrong."""
    with pytest.raises(Malformed) as caught:
        read(message, version, bytes.fromhex(data))

    assert (caught.value.field, caught.value.offset) == (field, offset)
    assert caught.value.reason.startswith(reason)


def test_unknown_messages_and_versions() -> None:
    """They are lookup errors, as those of trees."""
    with pytest.raises(LookupError):
        read("NoSuchRequest", 0, b"")
    with pytest.raises(LookupError, match="the versions 0 to 1, not 2"):
        read("SaslHandshakeRequest", 2, b"")
