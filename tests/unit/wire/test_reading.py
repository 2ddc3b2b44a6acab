"""Frames, headers and values: what is read, and what hostile bytes cost."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper_wire import reading
from doorkeeper_wire.errors import InvalidFrame, Malformed, UnknownApi
from doorkeeper_wire.framing import (
    FrameBuffer,
    RequestHeader,
    decode_request_header,
    encode_request,
    encode_request_header,
    request_header_version,
    response_header_version,
)
from doorkeeper_wire.messages.create_acls import CreateAclsRequest
from doorkeeper_wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest
from doorkeeper_wire.messages.list_groups import ListGroupsRequest
from doorkeeper_wire.messages.metadata import MetadataRequest

HOSTILE_COUNTS = ["7fffffff", "ffffffff", "80000000", "7ffffffe"]
HOSTILE_VARINTS = ["ffffffff07", "ffffffff0f", "8080808008", "8180808008", "feffffff0f"]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("00", 0),
        ("7f", 127),
        ("8001", 128),
        ("ffff03", 65535),
        ("ffffffff07", 2**31 - 1),
        ("8080808008", -(2**31)),
        ("ffffffff0f", -1),
        ("ffffffff7f", -1),
        ("8000", 0),
        ("8080808000", 0),
    ],
)
def test_unsigned_varints(data: str, value: int) -> None:
    """An unsigned varint is Java's int32; more bytes than needed are accepted, up to five."""
    encoded = bytes.fromhex(data)

    assert reading.uvarint(encoded, 0, "field") == (value, len(encoded))


@pytest.mark.parametrize("data", ["", "80", "808080", "808080808000", "ffffffffff"])
def test_malformed_varints(data: str) -> None:
    with pytest.raises(Malformed):
        reading.uvarint(bytes.fromhex(data), 0, "field")


def test_compact_sizes_wrap_as_in_java() -> None:
    """2**32 - 1 is a null, and 2**31 is a size that never fits."""
    assert reading.compact_size(bytes.fromhex("ffffff0f"), 0, 0xFF, "field") == (-2, 4)
    assert reading.compact_size(bytes.fromhex("80808008"), 0, 0x80, "field") == (2**31 - 1, 4)


def test_null_filters() -> None:
    """On nullable texts -2 and 2**32 - 1 are null, as in Kafka."""
    plain = DescribeAclsRequest.decode(bytes.fromhex("02fffe03ffffffff0303"), 0, 1)[0]
    compact = DescribeAclsRequest.decode(bytes.fromhex("02ffffffff0f030000030300"), 0, 2)[0]

    assert plain.resource_name_filter is None
    assert compact.resource_name_filter is None
    assert compact.principal_filter is None


def test_null_arrays() -> None:
    """On a nullable array -2 and 2**32 - 1 are null; an array without null refuses them."""
    assert MetadataRequest.decode(bytes.fromhex("fffffffe"), 0, 1)[0].topics is None
    assert MetadataRequest.decode(bytes.fromhex("ffffffff0f000000 00"), 0, 9)[0].topics is None
    with pytest.raises(Malformed, match="creations at byte 1: null"):
        CreateAclsRequest.decode(bytes.fromhex("0000"), 0, 2)


def test_tag_with_negative_size_is_rejected() -> None:
    with pytest.raises(Malformed, match="unknown_tags at byte 8: a tagged field of -1 bytes"):
        CreateAclsRequest.decode(bytes.fromhex("010109ffffffff0f"), 0, 2)


def test_error_has_path_and_offset() -> None:
    with pytest.raises(Malformed) as caught:
        CreateAclsRequest.decode(bytes.fromhex("0202056e616d65030455"), 0, 2)

    assert caught.value.field == "creations.principal"
    assert caught.value.offset == 9
    assert caught.value.reason == "needs 3 bytes, 1 are left"


def test_overlong_text_is_rejected() -> None:
    """A text above 32767 bytes is refused although it is there."""
    data = b"\x81\x80\x02" + b"x" * 32768

    with pytest.raises(Malformed, match="a text of 32768 bytes; at most 32767"):
        reading.compact_text(data, 1, data[0], "field")
    assert reading.compact_text(b"\x80\x80\x02" + b"x" * 32767, 1, 0x80, "field")[1] == 32770


def cost(version: int, data: bytes, *kinds: type[CreateAclsRequest | ListGroupsRequest]) -> int:
    """Return the most memory that decoding took above the data, in bytes; errors are expected."""
    tracemalloc.start()
    try:
        for kind in kinds:
            try:
                kind.decode(data, 0, version)
            except Malformed:
                continue
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("count", [*HOSTILE_COUNTS, *HOSTILE_VARINTS])
def test_claimed_length_allocates_nothing(count: str) -> None:
    data = bytes.fromhex(count) + bytes(50)

    for version in range(4):
        assert cost(version, data, CreateAclsRequest, ListGroupsRequest) < 20_000


class LookedAt(bytes):
    """Bytes that keep which of them one looks at."""

    def __init__(self, data: bytes) -> None:
        del data
        self.places: list[Any] = []

    def __getitem__(self, place: Any) -> Any:
        self.places.append(place)
        return super().__getitem__(place)


@pytest.mark.parametrize("version", [2, 3])
def test_endless_varint_is_rejected(version: int) -> None:
    """100 kB of 0x80 are refused at once: behind the fifth nobody looks."""
    data = LookedAt(b"\x80" * 100_000)

    with pytest.raises(Malformed, match="more than five bytes"):
        CreateAclsRequest.decode(data, 0, version)

    assert sorted(data.places) == [0, 1, 2, 3, 4]


def test_small_elements_cost_bounded_memory() -> None:
    texts = bytes.fromhex("914e") + b"\x01" * 10_000 + b"\x00"
    tags = b"\x01\x01" + bytes.fromhex("904e") + b"\x09\x00" * 10_000

    assert cost(4, texts, ListGroupsRequest) < 20 * len(texts)
    assert cost(4, tags, ListGroupsRequest) < 50 * len(tags)


def test_elements_are_counted_over_arrays_and_tags() -> None:
    """Nested arrays and tagged fields count together; without a bound, or within it, nothing."""
    topics = CreateTopicsRequest(
        topics=tuple(
            CreatableTopic(
                name="t",
                assignments=(CreatableReplicaAssignment(broker_ids=(1, 2)),),
                unknown_tags=((5, b""),),
            )
            for _ in range(3)
        )
    ).encode(7)

    assert CreateTopicsRequest.decode(topics, 0, 7) == CreateTopicsRequest.decode(
        reading.limit_elements(topics, 15), 0, 7
    )
    with pytest.raises(Malformed, match="exceed the limit for a request"):
        CreateTopicsRequest.decode(reading.limit_elements(topics, 14), 0, 7)


def stream(frames: list[bytes]) -> bytes:
    return b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)


def received(chunks: list[bytes]) -> list[bytes]:
    buffer = FrameBuffer(20_000)
    return [frame for chunk in chunks for frame in buffer.receive(chunk)]


@given(
    frames=st.lists(st.binary(max_size=40) | st.just(b"y" * 9000), max_size=6),
    cuts=st.lists(st.integers(0, 60_000), max_size=8),
)
def test_frames_are_split_at_any_point(frames: list[bytes], cuts: list[int]) -> None:
    data = stream(frames)
    places = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})

    chunks = [data[start:end] for start, end in pairwise(places)]

    assert received(chunks) == frames


@pytest.mark.parametrize("size", [-1, 101, 2**31 - 1, -(2**31)])
def test_invalid_frame_sizes(size: int) -> None:
    with pytest.raises(InvalidFrame) as caught:
        FrameBuffer(100).receive(size.to_bytes(4, "big", signed=True))

    assert (caught.value.size, caught.value.size_max) == (size, 100)


def test_frames_before_an_invalid_size() -> None:
    buffer = FrameBuffer(100)

    assert buffer.receive(stream([b"good"]) + b"\xff\xff\xff\xff") == [b"good"]
    with pytest.raises(InvalidFrame):
        buffer.receive(b"")


def test_largest_frame_is_accepted() -> None:
    assert FrameBuffer(5).receive(stream([b"12345"])) == [b"12345"]


def test_position_between_frames() -> None:
    buffer = FrameBuffer(10)
    for piece in (b"\0\0", b"\0\x02", b"a"):
        assert buffer.receive(piece) == []
        assert not buffer.is_between_frames

    assert buffer.receive(b"b") == [b"ab"]
    assert buffer.is_between_frames
    assert buffer.receive(stream([b"a", b"b"]) + b"\xff\xff\xff\xff") == [b"a", b"b"]
    assert not buffer.is_between_frames


def test_claimed_frame_size_allocates_nothing() -> None:
    tracemalloc.start()
    try:
        FrameBuffer(104_857_600).receive((100_000_000).to_bytes(4, "big") + b"x")
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()


def test_one_whole_frame_is_not_buffered() -> None:
    buffer = FrameBuffer(10)

    assert buffer.receive(b"\0\0\0\x02ab") == [b"ab"]
    assert buffer.buffered == 0
    assert buffer.receive(b"\0\0\0\0") == [b""]
    assert buffer.receive(b"\0\0") == []
    assert buffer.receive(b"\0\x04\0\0\0\0") == [b"\0\0\0\0"]
    with pytest.raises(InvalidFrame):
        buffer.receive(b"\0\0\0\x0b" + bytes(11))


def header(api_key: int, version: int, client_id: str | None = "me") -> RequestHeader:
    return RequestHeader(
        api_key=api_key, api_version=version, correlation_id=-5, client_id=client_id
    )


@pytest.mark.parametrize(
    ("api_key", "version", "request_header", "response_header"),
    [
        (29, 1, 1, 0),
        (29, 2, 2, 1),
        (18, 2, 1, 0),
        (18, 3, 2, 0),
        (18, 99, 2, 0),
        (18, -1, 1, 0),
        (17, 1, 1, 0),
        (60, 0, 2, 1),
    ],
)
def test_header_versions(
    api_key: int, version: int, request_header: int, response_header: int
) -> None:
    assert request_header_version(api_key, version) == request_header
    assert response_header_version(api_key, version) == response_header


@pytest.mark.parametrize("client_id", ["me", "", None])
@pytest.mark.parametrize("version", [1, 3])
def test_request_headers_round_trip(version: int, client_id: str | None) -> None:
    sent = header(29, version, client_id)

    frame = encode_request(sent, b"body")[4:]

    assert decode_request_header(frame) == (sent, len(frame) - 4)
    assert encode_request_header(sent) == frame[:-4]


@pytest.mark.parametrize("size", [0, 7])
def test_short_headers_are_malformed(size: int) -> None:
    with pytest.raises(Malformed, match="needs 8 bytes"):
        decode_request_header(bytes(size))


@pytest.mark.parametrize("cut", [8, 12])
def test_truncated_headers_are_malformed(cut: int) -> None:
    frame = encode_request_header(header(29, 3))

    with pytest.raises(Malformed):
        decode_request_header(frame[:cut])


@pytest.mark.parametrize("api_key", [-1, 95, 999, 32767])
def test_unknown_api_error_has_version_and_correlation_id(api_key: int) -> None:
    """An API key that Kafka does not have is told with version and correlation id."""
    frame = api_key.to_bytes(2, "big", signed=True) + bytes.fromhex("000300000007")

    with pytest.raises(UnknownApi) as caught:
        decode_request_header(frame)

    assert caught.value.api_key == api_key
    assert (caught.value.api_version, caught.value.correlation_id) == (3, 7)
