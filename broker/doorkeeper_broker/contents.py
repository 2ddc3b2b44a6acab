"""The records in a batch: a check that they are records, and the search for one by its time.

Batches that are uncompressed or compressed with gzip are opened; of others nothing is known.

Source: ``DefaultRecord``, ``DefaultRecordBatch`` and ``LogValidator`` of Kafka 4.3.1.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Final

from msgspec import Struct

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.record_batches import Record, RecordBatch, read_int, read_long, varint

_NONE, _GZIP = 0, 1
_WITH_GZIP_HEADER: Final = 31
_OPENED_BYTES_MAX: Final = 16_777_216
_DEFLATED_RATIO_MAX: Final = 1_032

_TWO_BYTES_MAX: Final = 0x3FFF

_MANY: Final = 500
"""With fewer records it takes longer to compile a pattern than to look at each of them."""

_PATTERNS_MAX: Final = 64
_NUMBERS: Final = {count: rb"[\x80-\xff]" * (count - 1) + rb"[\x00-\x7f]" for count in (1, 2, 3)}
"""Patterns of a number of so many bytes."""


class _Opened(Struct, frozen=True):
    """The records of a batch as bytes.

    ``is_damaged`` where the compression ends in an error; ``is_cut`` where there is more than is
    looked at.
    """

    data: bytes
    is_damaged: bool = False
    is_cut: bool = False


class Inspection:
    """What may still be opened and looked at of the batches of one request.

    Beyond it a batch is taken as one of a compression that is not opened. A request of 8 MB may
    name 500 batches of 16 MiB each, and the event loop serves nobody else meanwhile; 32 MiB and
    100,000 records take 0.2 s.
    """

    __slots__ = ("bytes_left", "records_left")

    def __init__(self) -> None:
        self.bytes_left = 33_554_432
        self.records_left = 100_000


def check_records(batch: RecordBatch, inspection: Inspection) -> None:
    """Check that a client's batch has the records that its header claims, and nothing else.

    Raises:
        ApiError: it has not, or cannot be opened.
    """
    opened = _open(batch, inspection)
    if opened is None:
        return
    data, is_compressed = opened.data, batch.compression != _NONE
    if not is_compressed and batch.record_count >= _MANY and _are_alike(data, batch.record_count):
        return
    count = min(batch.record_count, inspection.records_left)
    inspection.records_left -= max(count, 0)
    try:
        end = _skip_records(data, count, is_compressed)
    except IndexError:
        if opened.is_cut:
            return
        # A broker meets the end of what can be decompressed when it asks for the next record.
        code = ErrorCode.UNKNOWN_SERVER_ERROR if opened.is_damaged else ErrorCode.INVALID_RECORD
        raise ApiError(code, f"The batch has fewer than {batch.record_count} records") from None
    if count < batch.record_count:
        return
    if opened.is_damaged:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "Failed to decompress record stream")
    if end != len(data):
        text = "Incorrect declared batch size, records still remaining in file"
        raise ApiError(ErrorCode.INVALID_RECORD, text)


def check_keys(batch: RecordBatch, partition: str, inspection: Inspection) -> None:
    """Check that the records of a batch for a compacted topic have keys.

    ``partition`` is its name in the text of the error.

    Raises:
        ApiError: a record has none.
    """
    opened = _open(batch, inspection)
    if opened is None:
        return
    text = f"Compacted topic cannot accept message without key in topic partition {partition}."
    errors = [
        f"RecordError(batchIndex={index}, message='{text}')"
        for index, record in enumerate(_records(batch, opened, inspection))
        if record.key is None
    ]
    if errors:
        raise ApiError(
            ErrorCode.INVALID_RECORD,
            f"One or more records have been rejected due to {len(errors)} record errors in total,"
            f" and only showing the first three errors at most: [{', '.join(errors[:3])}]",
        )


def _records(batch: RecordBatch, opened: _Opened, inspection: Inspection) -> Iterator[Record]:
    """Yield the records as far as they are opened, and may be looked at.

    Raises:
        Malformed: the body is not one of records.
    """
    try:
        for record in batch.records(opened.data):
            if inspection.records_left <= 0:
                return
            inspection.records_left -= 1
            yield record
    except Malformed:
        # What is larger than is opened ends within a record.
        if not opened.is_cut:
            raise


def find_record(
    batch: RecordBatch, timestamp: int, inspection: Inspection
) -> tuple[int, int] | None:
    """Return offset delta and time of the first record of a time or a later one.

    Of a batch that cannot be opened the first record stands for all.
    """
    opened = None if batch.has_append_time else _open(batch, inspection)
    if opened is None or opened.is_damaged or inspection.records_left <= 0:
        return (0, batch.max_timestamp) if batch.max_timestamp >= timestamp else None
    with suppress(Malformed):
        for record in _records(batch, opened, inspection):
            if batch.base_timestamp + record.time_delta >= timestamp:
                return record.offset_delta, batch.base_timestamp + record.time_delta
    return None


def _open(batch: RecordBatch, inspection: Inspection) -> _Opened | None:
    """Return the records of a batch; None if its compression is not opened, or no more is."""
    if batch.compression == _NONE:
        return _Opened(batch.body)
    if batch.compression != _GZIP:
        return None
    bytes_max = min(_OPENED_BYTES_MAX, inspection.bytes_left)
    # Zero would mean no limit to zlib.
    if bytes_max <= 0:
        return None
    unzip = zlib.decompressobj(_WITH_GZIP_HEADER)
    try:
        # Bounded: a batch of a megabyte may hold a gigabyte of zeros.
        data = unzip.decompress(batch.body, bytes_max)
    except zlib.error:
        # Nobody knows how much was decompressed before the error.
        inspection.bytes_left -= min(bytes_max, len(batch.body) * _DEFLATED_RATIO_MAX)
        return _Opened(b"", is_damaged=True)
    inspection.bytes_left -= len(data)
    is_cut = not unzip.eof and len(data) == bytes_max
    return _Opened(data, is_damaged=not unzip.eof and not is_cut, is_cut=is_cut)


def _are_alike(data: bytes, count: int) -> bool:
    """Say whether these are so many records whose keys and values have the sizes of the first.

    Most batches of many records are, and a pattern sees it ten times faster than a loop.
    """
    try:
        _, at = read_int(data, 0)
        _, at = read_long(data, at + 1)
        _, at = read_int(data, at)
        key_size, at = read_int(data, at)
        value_size, _ = read_int(data, at + max(key_size, 0))
    except (IndexError, Malformed):
        return False
    if not -1 <= key_size < len(data) or not -1 <= value_size < len(data):
        return False
    found = _pattern(key_size, value_size).findall(data)
    # They leave nothing between them.
    return len(found) == count and sum(map(len, found)) == len(data)


@lru_cache(_PATTERNS_MAX)
def _pattern(key_size: int, value_size: int) -> re.Pattern[bytes]:
    """Return a pattern for records without headers, with times of one or two bytes."""
    end, end_size = b"", 1
    for size in (key_size, value_size):
        number, bytes_count = varint(size), max(size, 0)
        end += re.escape(number) + b".{%d}" % bytes_count
        end_size += len(number) + bytes_count
    starts = []
    for total in range(2, 6):
        numbers = (
            _NUMBERS[time] + _NUMBERS[total - time] for time in (1, 2) if total - time in _NUMBERS
        )
        length = re.escape(varint(1 + total + end_size))
        starts.append(length + b".(?:" + b"|".join(numbers) + b")")
    return re.compile(b"(?:" + b"|".join(starts) + b")" + end + b"\\x00", re.DOTALL)


def _skip_records(data: bytes, count: int, is_compressed: bool) -> int:
    """Return where so many records end.

    Raises:
        ApiError: one of them is no record.
        IndexError: the bytes end before.
    """
    at = 0
    for index in range(count):
        delta, end = _skip_plain(data, at)
        if end < 0:
            delta, end = _skip_any(data, at, index, is_compressed)
        if is_compressed and delta != index:
            # A broker would have to compress such a batch again, and fails at that.
            text = f"Record {index} of the batch has offset {delta}"
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, text)
        at = end
    return at


def _skip_plain(data: bytes, at: int) -> tuple[int, int]:  # noqa: C901
    """Return offset delta and end of a record as most are; an end of -1 for any other.

    Its numbers have one or two bytes, and it has no headers. One function that calls none, because
    it is run for each record.
    """
    size, at = data[at], at + 1
    if size > 0x7F:
        size, at = size & 0x7F | data[at] << 7, at + 1
    end = at + (size >> 1)
    at += 2
    if data[at - 1] > 0x7F:
        if data[at] > 0x7F:
            return 0, -1
        at += 1
    delta, at = data[at], at + 1
    if delta > 0x7F:
        delta, at = delta & 0x7F | data[at] << 7, at + 1
    key, at = data[at], at + 1
    if key > 0x7F:
        key, at = key & 0x7F | data[at] << 7, at + 1
    if (size | delta | key) > _TWO_BYTES_MAX:
        return 0, -1
    if not key & 1:
        at += key >> 1
    value, at = data[at], at + 1
    if value > 0x7F:
        value, at = value & 0x7F | data[at] << 7, at + 1
        if value > _TWO_BYTES_MAX:
            return 0, -1
    if not value & 1:
        at += value >> 1
    if data[at] != 0 or at + 1 != end or (size | delta) & 1:
        return 0, -1
    return delta >> 1, end


def _skip_any(data: bytes, at: int, index: int, is_compressed: bool) -> tuple[int, int]:
    """Return offset delta and end of a record.

    Raises:
        ApiError: it is no record.
        IndexError: the bytes end before.
    """
    try:
        size, start = read_int(data, at)
    except Malformed:
        # A broker's iterator of uncompressed records takes this for an error of its own.
        code = ErrorCode.INVALID_RECORD if is_compressed else ErrorCode.UNKNOWN_SERVER_ERROR
        raise ApiError(code, f"Record {index} of the batch has no size") from None
    try:
        delta, end = _skip_record(data, start)
    except Malformed:
        delta, end = 0, -1
    if end != start + size:
        text = f"Record {index} of the batch is not one of {size} bytes"
        raise ApiError(ErrorCode.INVALID_RECORD, text)
    return delta, end


def _skip_record(data: bytes, at: int) -> tuple[int, int]:
    """Return the offset delta of the record behind its size, and its end; -1 if it is wrong."""
    _, at = read_long(data, at + 1)
    delta, at = read_int(data, at)
    for _ in ("key", "value"):
        size, at = read_int(data, at)
        if size > 0:
            at += size
    headers, at = read_int(data, at)
    if headers == 0:
        return delta, at
    if not 0 < headers <= len(data) - at:
        return delta, -1
    for _ in range(headers):
        size, at = read_int(data, at)
        if size < 0:
            return delta, -1
        size, at = read_int(data, at + size)
        if size > 0:
            at += size
    return delta, at
