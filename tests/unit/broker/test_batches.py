"""Record batches: what is read, what is refused, and what is written into them."""

from __future__ import annotations

import zlib
from unittest.mock import patch

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper_broker import contents
from doorkeeper_broker.batches import check_batch, marker, place, read_batch, with_append_time
from doorkeeper_broker.contents import Inspection, check_records, find_record
from testkit.batches import batch, batch_bytes, record, varint
from testkit.wrong_batches import BODY, GZIP, RIGHT, pack, record_of, with_body

SNAPPY, ZSTD = 2, 4


def changed(data: bytes, at: int, new: bytes, *, sum_is_right: bool = True) -> bytes:
    """Return a batch with other bytes at a place."""
    data = data[:at] + new + data[at + len(new) :]
    return data[:17] + crc32c(data[21:]).to_bytes(4) + data[21:] if sum_is_right else data


GOOD = batch_bytes(b"a", b"b")


@pytest.mark.parametrize(
    ("data", "version", "code"),
    [
        (b"", 9, ErrorCode.INVALID_RECORD),
        (GOOD[:11], 9, ErrorCode.INVALID_RECORD),
        (GOOD[:-1], 9, ErrorCode.INVALID_RECORD),
        (GOOD[:60], 9, ErrorCode.INVALID_RECORD),
        (changed(GOOD, 8, (48).to_bytes(4)), 9, ErrorCode.CORRUPT_MESSAGE),
        (changed(GOOD, 8, b"\xff\xff\xff\xff"), 9, ErrorCode.CORRUPT_MESSAGE),
        (changed(GOOD, 8, b"\x7f\xff\xff\xff"), 9, ErrorCode.UNKNOWN_SERVER_ERROR),
        (changed(GOOD, 70, b"!", sum_is_right=False), 9, ErrorCode.CORRUPT_MESSAGE),
        (changed(GOOD, 16, b"\1"), 9, ErrorCode.INVALID_RECORD),
        (changed(GOOD, 16, b"\3"), 9, ErrorCode.CORRUPT_MESSAGE),
        (batch_bytes(b"a", base_offset=5), 9, ErrorCode.INVALID_RECORD),
        (GOOD + GOOD, 9, ErrorCode.INVALID_RECORD),
        (changed(GOOD, 22, b"\5"), 9, ErrorCode.UNKNOWN_SERVER_ERROR),
        (changed(GOOD, 22, b"\4"), 6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (changed(GOOD, 22, b"\x20"), 9, ErrorCode.INVALID_RECORD),
        (changed(GOOD, 22, b"\x10"), 9, ErrorCode.INVALID_RECORD),
        (changed(GOOD, 57, b"\0\0\0\0"), 9, ErrorCode.INVALID_RECORD),
        (changed(GOOD, 57, b"\0\0\0\5"), 9, ErrorCode.INVALID_RECORD),
        (changed(GOOD, 43, (7).to_bytes(8)), 9, ErrorCode.INVALID_RECORD),
    ],
)
def test_invalid_batch_is_rejected(data: bytes, version: int, code: ErrorCode) -> None:
    with pytest.raises(ApiError) as refused:
        check_batch(read_batch(data, version))

    assert refused.value.code is code


def test_placing_a_batch_keeps_its_checksum() -> None:
    found = place(batch(b"a"), 77)

    assert found[:8] == (77).to_bytes(8)
    assert found[12:16] == bytes(4)
    assert found[16:] == batch_bytes(b"a")[16:]


def test_log_append_time_is_written() -> None:
    found = with_append_time(batch(b"a", times=[5]), 99)

    assert read_batch(found.data, 9) == found
    assert found.max_timestamp == 99
    assert find_record(found, 99, Inspection()) == (0, 99)
    assert find_record(found, 100, Inspection()) is None


@pytest.mark.parametrize("commits", [True, False])
def test_marker_is_a_control_record(commits: object) -> None:
    """Its key has the type: 0 aborts, 1 commits; its value the epoch of the coordinator."""
    found = marker(7, 3, 1000, commits=bool(commits))

    assert found.is_control
    assert found.is_transactional
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == (7, 3, -1)
    assert found.data[17:21] == crc32c(found.data[21:]).to_bytes(4)
    assert len(found.data) == 12 + int.from_bytes(found.data[8:12])
    assert found.data[61:].hex() == "20000000" + "08" + "0000000" + f"{int(bool(commits))}" + (
        "0c" + "000000000000" + "00"
    )


@pytest.mark.parametrize("attributes", [0, GZIP])
def test_record_is_found_by_timestamp(attributes: int) -> None:
    found = batch(b"a", b"b", b"c", times=[5, 9, 7], attributes=attributes)

    assert find_record(found, 0, Inspection()) == (0, 5)
    assert find_record(found, 6, Inspection()) == (1, 9)
    assert find_record(found, 10, Inspection()) is None


def test_malformed_records_end_the_search() -> None:
    data = changed(GOOD, 61, b"\xff" * (len(GOOD) - 61))

    assert find_record(read_batch(data, 9), 0, Inspection()) is None
    assert find_record(read_batch(changed(data, 22, b"\1"), 9), 0, Inspection()) == (0, 1000)


NUMBERS = st.sampled_from([0, 1, 62, 63, 64, 65, 8190, 8191, 8192, 8193, 70_000])


def code_of(data: bytes) -> ErrorCode:
    try:
        check_records(read_batch(data, 9), Inspection())
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


@pytest.mark.parametrize("name", RIGHT)
def test_valid_records_are_accepted(name: str) -> None:
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
def test_fast_path_detects_any_damage(at: int, new: bytes, left_out: int, count: int) -> None:
    data = with_body(ALIKE[:at] + new + ALIKE[at + left_out :], count=count)
    with patch.object(contents, "_MANY", 10_000):
        expected = code_of(data)

    assert code_of(data) is expected


def test_records_beyond_the_inspection_limit_are_accepted() -> None:
    large = record(0, bytes(20_000_000)) + record(1, b"")

    assert code_of(with_body(pack(GZIP, large), GZIP)) is ErrorCode.NONE
    assert code_of(with_body(pack(GZIP, b"\2" + large), GZIP)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("end", [1, 8, 20])
def test_truncated_gzip_is_rejected(end: int) -> None:
    whole = pack(GZIP, BODY)

    assert code_of(with_body(whole[:-end], GZIP)) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_decompression_bomb_is_rejected() -> None:
    squeezed = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = b"".join(squeezed.compress(bytes(1 << 24)) for _ in range(2)) + squeezed.flush()

    assert code_of(with_body(zeros, GZIP)) is ErrorCode.INVALID_RECORD


def test_decompression_of_one_request_is_bounded() -> None:
    """Five hundred times the same 16 KB, of 16 MiB each, held up everybody for half a minute."""
    bomb = read_batch(with_body(pack(GZIP, record(0, bytes(16_000_000))), GZIP, count=1), 9)
    damaged = read_batch(
        with_body(pack(GZIP, record(0, bytes(16_000_000)))[:-9] + b"x" * 9, GZIP), 9
    )
    inspection, opened = Inspection(), 0
    before = inspection.bytes_left

    for each in [bomb, damaged] * 10:
        left = inspection.bytes_left
        try:
            check_records(each, inspection)
        except ApiError:
            opened += 1
        opened += inspection.bytes_left < left

    assert opened <= 4
    assert 0 <= inspection.bytes_left < before


def test_records_looked_at_for_one_request_are_bounded() -> None:
    many = b"".join(record(delta, b"") for delta in range(60_000))
    found = read_batch(with_body(pack(GZIP, many), GZIP, count=60_000), 9)
    wrong = read_batch(with_body(pack(GZIP, many + b"\2"), GZIP, count=60_001), 9)
    inspection = Inspection()

    check_records(found, inspection)
    check_records(wrong, inspection)

    assert inspection.records_left == 0
    assert find_record(found, 0, inspection) == (0, found.max_timestamp)
    with pytest.raises(ApiError):
        check_records(wrong, Inspection())
