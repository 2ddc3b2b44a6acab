"""The codec that walks declarations: what it reads and writes, beside the generated code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper_wire.errors import Malformed, Unencodable
from doorkeeper_wire.interpreted import Field, decode, encode
from doorkeeper_wire.messages.join_group import JoinGroupRequest
from doorkeeper_wire.reading import limit_elements
from doorkeeper_wire.unserved import UNSERVED

JOIN_GROUP = UNSERVED[11].request

FIELDS = (
    Field("Always", "int16", 0, 9, default=0),
    Field("Later", "string", 2, 9, null_low=3, null_high=9, default="none"),
    Field("Part", "struct", 2, 9, fields=(Field("Inner", "int8", 2, 9, default=7),)),
    Field("Tagged", "int32", 2, 9, tag=1, default=-1),
    Field("Newer", "int32", 4, 9, tag=2, default=-1),
)


@given(st.binary(max_size=40), st.sampled_from([0, 1]))
def test_noise_is_read_as_by_the_generated_code(noise: bytes, version: int) -> None:
    """Both refuse it, or both read it to the same place."""
    try:
        generated = JoinGroupRequest.decode(noise, 0, version)[1]
    except Malformed:
        generated = -1
    try:
        found = decode(JOIN_GROUP, noise, 0, version, flexible=False)[1]
    except Malformed:
        found = -1

    assert found == generated


def test_tagged_fields() -> None:
    """Known ones are read, others skipped, those of another version refused; none is written."""
    head = b"\0\5" + b"\0" + b"\1" + b"\0"
    both = b"\2" + b"\1\4\0\0\0\x09" + b"\x05\2xy"

    values, end = decode(FIELDS, head + both, 0, 3, flexible=True)

    assert (values["Later"], values["Part"], values["Tagged"]) == (None, {"Inner": 1}, 9)
    assert end == len(head + both)
    assert encode(FIELDS, values, 3, flexible=True) == head + b"\0"
    with pytest.raises(Malformed, match="tag 2 is not valid in this version"):
        decode(FIELDS, head + b"\1" + b"\2\4\0\0\0\x09", 0, 3, flexible=True)


def test_a_struct_that_may_be_null_begins_with_a_sign() -> None:
    """-1 for null, 1 before its fields; read back as it was written."""
    inner = Field("Inner", "int8", 0, 9)
    fields = (Field("Part", "struct", 0, 9, null_low=1, null_high=9, fields=(inner,)),)

    for value, data in ((None, b"\xff"), ({"Inner": 5}, b"\x01\x05")):
        assert encode(fields, {"Part": value}, 1, flexible=False) == data
        assert decode(fields, data, 0, 1, flexible=False) == ({"Part": value}, len(data))
    assert encode(fields, {"Part": {"Inner": 5}}, 0, flexible=False) == b"\x05"


def test_null_is_refused_where_it_is_not_allowed() -> None:
    """Read or written, in the versions that do not have it."""
    with pytest.raises(Malformed, match="null"):
        decode(FIELDS, b"\0\5\0", 0, 2, flexible=True)
    with pytest.raises(Unencodable):
        encode(FIELDS, {"Always": None}, 1, flexible=False)


def test_a_claimed_length_allocates_nothing() -> None:
    """A count above the bytes left is refused at once, and so is one element too many in all."""
    numbers = (Field("Numbers", "int32", 0, 9, is_array=True, default=()),)
    many = b"\0\0\0\x05" + bytes(20)

    with pytest.raises(Malformed, match="an array of 2147483647"):
        decode(numbers, b"\x7f\xff\xff\xff" + bytes(9), 0, 0, flexible=False)
    with pytest.raises(Malformed, match="more than allowed"):
        decode(numbers, limit_elements(many, 4), 0, 0, flexible=False)
    assert decode(numbers, many, 0, 0, flexible=False) == ({"Numbers": [0] * 5}, 24)
