"""doorkeeper_wire.declared.nodes, and the trees by name."""

from typing import Any

import pytest
from construct import ConstructError, Int16sb, ValidationError

from doorkeeper_wire.declared.nodes import (
    Absent,
    Array,
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


@pytest.mark.parametrize("unknown", [((2, b""),), ((9, b""), (8, b"")), ((2**31, b""),)])
def test_tags_that_cannot_be_written(unknown: Any) -> None:
    """Tags that are known, out of order or too high are refused."""
    with pytest.raises(ConstructError):
        TAGGED.build({"first": 1, "names": ["x"], "unknown_tags": unknown})


def test_absent_fields() -> None:
    """A field that the version lacks is read as its default, and refused where it matters."""
    lacking = Record(
        "Struct", absent=(Absent("kind", 3, ignorable=False), Absent("rack", None, ignorable=True))
    )

    assert lacking.parse(b"").kind == 3
    assert lacking.build({"rack": "here"}) == b""
    with pytest.raises(ValidationError):
        lacking.build({"kind": 4})
