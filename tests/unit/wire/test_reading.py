"""doorkeeper_wire.reading, and what hostile bytes cost."""

import tracemalloc
from typing import Any

import pytest

from doorkeeper_wire import reading
from doorkeeper_wire.errors import Malformed
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
def test_bad_varints(data: str) -> None:
    """A varint that is cut, or longer than five bytes, is Malformed."""
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


def test_tag_of_a_negative_size() -> None:
    """An unknown tagged field whose size is negative is refused."""
    with pytest.raises(Malformed, match="unknown_tags at byte 8: a tagged field of -1 bytes"):
        CreateAclsRequest.decode(bytes.fromhex("010109ffffffff0f"), 0, 2)


def test_where_and_why() -> None:
    """A field that is cut is named with its path and offset."""
    with pytest.raises(Malformed) as caught:
        CreateAclsRequest.decode(bytes.fromhex("0202056e616d65030455"), 0, 2)

    assert caught.value.field == "creations.principal"
    assert caught.value.offset == 9
    assert caught.value.reason == "needs 3 bytes, 1 are left"


def test_long_text() -> None:
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
def test_a_claimed_length_allocates_nothing(count: str) -> None:
    """A count or length of two thousand millions costs a few kilobytes, in every version."""
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
def test_endless_varint(version: int) -> None:
    """100 kB of 0x80 are refused at once: behind the fifth nobody looks."""
    data = LookedAt(b"\x80" * 100_000)

    with pytest.raises(Malformed, match="more than five bytes"):
        CreateAclsRequest.decode(data, 0, version)

    assert sorted(data.places) == [0, 1, 2, 3, 4]


def test_many_small_elements() -> None:
    """The densest array and the densest tags cost a bounded multiple of their bytes."""
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
    with pytest.raises(Malformed, match="more than allowed in all"):
        CreateTopicsRequest.decode(reading.limit_elements(topics, 14), 0, 7)
