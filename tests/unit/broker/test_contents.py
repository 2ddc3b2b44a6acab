"""The records in a batch: right ones of any size, and what is refused instead of appended."""

from __future__ import annotations

import zlib
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper_broker import contents
from doorkeeper_broker.batches import read_batch
from doorkeeper_broker.contents import check_records
from testkit.batches import record, varint
from testkit.wrong_batches import BODY, GZIP, RIGHT, pack, record_of, with_body

NUMBERS = st.sampled_from([0, 1, 62, 63, 64, 65, 8190, 8191, 8192, 8193, 70_000])


def code_of(data: bytes) -> ErrorCode:
    try:
        check_records(read_batch(data, 9))
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


@pytest.mark.parametrize("name", RIGHT)
def test_right_records(name: str) -> None:
    """However they are compressed."""
    assert code_of(RIGHT[name]) is ErrorCode.NONE


@st.composite
def records(draw: st.DrawFn) -> list[bytes]:
    """Return records with numbers of all lengths, keys and headers."""
    found = []
    for index in range(draw(st.integers(1, 4))):
        fields = [b"\0", varint(draw(NUMBERS) * draw(st.sampled_from([1, -1, 10**9])))]
        fields.append(varint(index))
        for _ in ("key", "value"):
            size = draw(NUMBERS | st.none())
            fields += [b"\1"] if size is None else [varint(size), bytes(size)]
        headers = draw(st.integers(0, 2))
        fields += [varint(headers), *([varint(1), b"h", b"\1"] * headers)]
        found.append(record_of(*fields))
    return found


@settings(max_examples=25)
@given(records(), st.sampled_from([0, GZIP]))
def test_records_of_any_size(found: list[bytes], compression: int) -> None:
    """The short way through most records says the same as the long one."""
    body = b"".join(found)

    def code(data: bytes) -> ErrorCode:
        return code_of(with_body(pack(compression, data), compression, count=len(found)))

    assert code(body) is ErrorCode.NONE
    assert code(body + b"\0") is ErrorCode.INVALID_RECORD
    assert code(body[:-1]) is ErrorCode.INVALID_RECORD


ALIKE = b"".join(record(number, bytes(20), number % 70) for number in range(2000))


@settings(max_examples=25)
@given(
    st.integers(0, len(ALIKE) - 1) | st.integers(0, 60),
    st.binary(max_size=2),
    st.integers(0, 2),
    st.sampled_from([2000, 2000, 1999]),
)
def test_many_alike(at: int, new: bytes, left_out: int, count: int) -> None:
    """Damage anywhere is answered as where each record is looked at."""
    data = with_body(ALIKE[:at] + new + ALIKE[at + left_out :], count=count)
    with patch.object(contents, "_MANY", 10_000):
        expected = code_of(data)

    assert code_of(data) is expected


def test_what_is_larger_than_is_looked_at() -> None:
    """A broker reads all of it; here it is accepted as far as it was read."""
    large = record(0, bytes(20_000_000)) + record(1, b"")

    assert code_of(with_body(pack(GZIP, large), GZIP)) is ErrorCode.NONE
    assert code_of(with_body(pack(GZIP, b"\2" + large), GZIP)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("end", [1, 8, 20])
def test_gzip_that_is_cut_off(end: int) -> None:
    """The answer of a broker to what cannot be decompressed."""
    whole = pack(GZIP, BODY)

    assert code_of(with_body(whole[:-end], GZIP)) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_bomb() -> None:
    """Zeros that unpack to more than is looked at are refused."""
    squeezed = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = b"".join(squeezed.compress(bytes(1 << 24)) for _ in range(2)) + squeezed.flush()

    assert code_of(with_body(zeros, GZIP)) is ErrorCode.INVALID_RECORD
