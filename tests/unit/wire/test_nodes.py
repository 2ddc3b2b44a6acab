"""doorkeeper_wire.declared.nodes, and the trees by name."""

from io import BytesIO
from typing import Any

import pytest
from construct import ConstructError, Int16sb, Int32sb, StreamError, ValidationError

from doorkeeper_wire.declared import tree
from doorkeeper_wire.declared.nodes import (
    BOOL,
    UVARINT,
    Absent,
    Array,
    NullableRecord,
    Octets,
    Record,
    Tagged,
    TagSection,
    Text,
)

TAGGED = Record(
    "Struct",
    "first" / Int16sb,
    tags=TagSection(
        Tagged(0, "level", Int16sb, 7), Tagged(2, "names", Array(Text()), ()), refused=(5,)
    ),
)


@pytest.mark.parametrize(
    ("node", "value", "encoded"),
    [
        (BOOL, True, "01"),
        (UVARINT, 300, "ac02"),
        (Text(), "é", "0002c3a9"),
        (Text(nullable=True), None, "ffff"),
        (Text(compact=True), "é", "03c3a9"),
        (Text(compact=True, nullable=True), None, "00"),
        (Octets(), b"ab", "000000026162"),
        (Octets(compact=True, nullable=True), None, "00"),
        (Array(Int32sb), [1], "0000000100000001"),
        (Array(Int32sb, nullable=True), None, "ffffffff"),
        (Array(Text(compact=True), compact=True), ["a", ""], "03026101"),
        (NullableRecord(Record("Struct", "first" / Int16sb)), None, "ff"),
    ],
)
def test_types(node: Any, value: Any, encoded: str) -> None:
    """Each type is written and read as Kafka does."""
    assert node.build(value).hex() == encoded
    assert node.parse(bytes.fromhex(encoded)) == value


@pytest.mark.parametrize(
    ("node", "data"),
    [
        (Text(), "ffff"),
        (Text(compact=True), "00"),
        (Text(compact=True), "ffffffff0f"),
        (Array(Int32sb), "ffffffff"),
        (Array(Int32sb), "7fffffff"),
        (Octets(), "0000000561"),
        (Text(), "000561"),
        (UVARINT, "808080808000"),
        (UVARINT, "80"),
    ],
)
def test_refusals(node: Any, data: str) -> None:
    """Null without leave, a length beyond the data and a varint without end are refused."""
    with pytest.raises((ValidationError, StreamError)):
        node.parse(bytes.fromhex(data))


def test_tags() -> None:
    """Known tags are written by need and in order, others among them; any order is read."""
    value = {"first": 1, "level": 7, "names": ["x"], "unknown_tags": ((1, b"?"), (9, b""))}

    assert (
        TAGGED.build(value).hex() == "0001" + "03" + "01013f" + "0207" + "00000001000178" + "0900"
    )
    read = TAGGED.parse(bytes.fromhex("0001" + "03" + "0900" + "00020005" + "00020006"))
    assert read.level == 6
    assert list(read.names) == []
    assert read.unknown_tags == [(9, b"")]


def test_sizes_of_known_tags_are_not_verified() -> None:
    """The size before a known field may be any number, as in Kafka."""
    assert TAGGED.parse(bytes.fromhex("0001" + "01" + "00630005")).level == 5


@pytest.mark.parametrize(
    "unknown", [((2, b""),), ((9, b""), (8, b"")), ((9, b""), (9, b"")), ((2**31, b""),)]
)
def test_tags_that_cannot_be_written(unknown: Any) -> None:
    """Tags that are known, out of order or too high are refused."""
    with pytest.raises(ConstructError):
        TAGGED.build({"first": 1, "names": ["x"], "unknown_tags": unknown})


def test_a_tag_of_another_version() -> None:
    """A tag that the struct has, but not in this version, is refused."""
    with pytest.raises(ValidationError, match="not valid in this version"):
        TAGGED.parse(bytes.fromhex("0001010500"))


def test_absent_fields() -> None:
    """A field that the version lacks is read as its default, and refused where it matters."""
    lacking = Record(
        "Struct", absent=(Absent("kind", 3, ignorable=False), Absent("rack", None, ignorable=True))
    )

    assert lacking.parse(b"").kind == 3
    assert lacking.build({"rack": "here"}) == b""
    with pytest.raises(ValidationError):
        lacking.build({"kind": 4})


def test_trees_by_name() -> None:
    """A tree is found by message and version, and stands for itself."""
    stream = BytesIO(b"\x00\x05PLAINrest")

    assert tree("SaslHandshakeRequest", 1).parse_stream(stream).mechanism == "PLAIN"
    assert stream.read() == b"rest"
    with pytest.raises(LookupError, match="the versions 0 to 1, not 2"):
        tree("SaslHandshakeRequest", 2)
    with pytest.raises(LookupError):
        tree("NoSuchRequest", 0)
