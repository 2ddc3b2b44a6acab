"""Encoding: values that are written, and the field of one that cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from doorkeeper_wire.errors import Unencodable, Unsupported
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from doorkeeper_wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
)
from doorkeeper_wire.messages.list_groups import ListGroupsRequest
from doorkeeper_wire.messages.metadata import MetadataResponse, MetadataResponseTopic
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateRequest
from doorkeeper_wire.messages.streams_group_describe import DescribedGroup as StreamsGroup
from doorkeeper_wire.messages.streams_group_describe import Endpoint, StreamsGroupDescribeResponse
from doorkeeper_wire.messages.streams_group_describe import Member as StreamsMember
from doorkeeper_wire.writing import COMPACT_TEXT, NULLABLE_TEXT, TEXT, UVARINT, put_tags

if TYPE_CHECKING:
    from doorkeeper_wire.message import Message


def test_varints() -> None:
    """Numbers are written in the fewest bytes, five at most."""
    assert UVARINT[0] == b"\x00"
    assert UVARINT[300].hex() == "ac02"
    assert UVARINT[2**32 - 1].hex() == "ffffffff0f"
    with pytest.raises(ValueError, match="-1"):
        UVARINT[-1]


def test_string_cache_is_limited() -> None:
    for number in range(5_000):
        assert TEXT[f"text {number}"][2:] == f"text {number}".encode()
    long = "x" * 1000
    assert COMPACT_TEXT[long] == b"\xe9\x07" + long.encode()

    assert len(TEXT) <= 4096
    assert long not in COMPACT_TEXT
    assert NULLABLE_TEXT[None] == b"\xff\xff"


def test_unknown_tags_are_merged_in_order() -> None:
    out: list[bytes] = []

    put_tags(out, [(0, b"a"), (7, b"b")], [(3, b"c"), (9, b"")])

    assert b"".join(out).hex() == "04" + "000161" + "030163" + "070162" + "0900"


def test_unknown_tags_are_written_without_known_ones() -> None:
    tagged = AclCreation(unknown_tags=((4, b"e"),))

    encoded = CreateAclsRequest(creations=(tagged, AclCreation()), unknown_tags=((5, b"m"),))

    element = "00" + "01" + "03" + "01" + "01" + "0000"
    assert encoded.encode(2).hex() == "03" + element + "01040165" + element + "00" + "0105016d"


@pytest.mark.parametrize(
    "unknown", [((5, b""), (4, b"")), ((4, b""), (4, b"")), ((2**31 - 1, b""),)]
)
def test_unknown_tags_must_ascend(unknown: tuple[tuple[int, bytes], ...]) -> None:
    """Unknown tags out of order, twice, or too high are refused: Kafka ends before 2**31 - 1."""
    with pytest.raises(Unencodable, match="unknown_tags"):
        CreateAclsRequest(unknown_tags=unknown).encode(2)


def test_unknown_tag_that_is_known() -> None:
    """An unknown tag cannot pass for a known one."""
    response = ApiVersionsResponse(finalized_features_epoch=3, unknown_tags=((1, b""),))

    with pytest.raises(Unencodable):
        response.encode(3)


def test_unrepresentable_values_are_rejected() -> None:
    prefixed = CreateAclsRequest(creations=(AclCreation(resource_pattern_type=4),))

    with pytest.raises(Unsupported, match=r"creations\.resource_pattern_type: 4 cannot be said"):
        prefixed.encode(0)
    with pytest.raises(Unsupported, match="unknown_tags"):
        CreateAclsRequest(unknown_tags=((1, b""),)).encode(1)
    assert ApiVersionsResponse(throttle_time_ms=5).encode(0) == ApiVersionsResponse().encode(0)


def test_null_for_an_omitted_field() -> None:
    with pytest.raises(Unsupported, match="states_filter: None cannot be said"):
        ListGroupsRequest(states_filter=None).encode(0)  # type: ignore[arg-type]
    with pytest.raises(Unencodable, match="supported_features: null, where null is not allowed"):
        ApiVersionsResponse(supported_features=None).encode(3)  # type: ignore[arg-type]


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
        wrong(creation(host="\ud800"), "creations.host: '\\ud800' contains an unpaired surrogate"),
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
def test_encoding_error_names_the_field(message: Message, text: str) -> None:
    with pytest.raises(Unencodable) as caught:
        message.encode(min(message.MAX_VERSION, 2))

    assert text in str(caught.value)


def test_topic_id_of_other_length_is_rejected() -> None:
    """A topic id that is not 16 bytes is refused, not cut or filled up."""
    response = MetadataResponse(topics=(MetadataResponseTopic(topic_id=b"short"),))

    with pytest.raises(Unencodable, match=r"topics\.topic_id: b'short' is not 16 bytes"):
        response.encode(12)


def test_port_has_16_bits() -> None:
    for port in (-1, 65536):
        endpoint = StreamsMember(user_endpoint=Endpoint(host="h", port=port))
        response = StreamsGroupDescribeResponse(groups=(StreamsGroup(members=(endpoint,)),))

        with pytest.raises(Unencodable, match=rf"user_endpoint\.port: {port} is no uint16"):
            response.encode(0)


def test_struct_without_null_marker() -> None:
    member: Any = StreamsMember(assignment=cast("Any", None))
    response = StreamsGroupDescribeResponse(groups=(StreamsGroup(members=(member,)),))

    with pytest.raises(Unencodable, match=r"members\.assignment: None where null is not allowed"):
        response.encode(0)
