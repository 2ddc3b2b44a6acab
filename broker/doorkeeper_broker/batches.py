"""Record batches of magic 2, as bytes: their header, their records, and batches of markers.

A batch stays as the producer sent it. Only its base offset and leader epoch are written, which its
checksum does not cover; with LogAppendTime also its times.

Source: ``DefaultRecordBatch``, ``ControlRecordType`` and ``LogValidator`` of Kafka 4.3.1.
"""

from __future__ import annotations

import zlib
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from google_crc32c import value as crc32c

from doorkeeper.errors import ApiError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

LEADER_EPOCH: Final = 0
NO_PRODUCER: Final = -1

_HEADER: Final = Struct(">qiibIhiqqqhii")
HEADER_BYTES: Final = _HEADER.size
_PREFIX_BYTES: Final = 12
_CRC_FROM: Final = 21
_START: Final = Struct(">q")
_EPOCH: Final = Struct(">i")
_LENGTH: Final = slice(8, 12)
_CRC: Final = slice(17, 21)

_COMPRESSION: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_NONE, _GZIP, _ZSTD = 0, 1, 4
_WITH_GZIP_HEADER: Final = 31
_DECOMPRESSED_BYTES_MAX: Final = 16_777_216

_MAX_TIME: Final = slice(35, 43)
_MARKER_KEY: Final = Struct(">hh")
_MARKER_VALUE: Final = Struct(">hi")


class Batch(NamedTuple):
    """The header of a batch, and its bytes."""

    data: bytes
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: int

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL)

    @property
    def last_sequence(self) -> int:
        """Return the sequence number of the last record; it begins again after 2**31 - 1."""
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF


def read_batch(records: bytes, version: int) -> Batch:
    """Return the one batch of a partition in a Produce request; ``check_batch`` comes later.

    Raises:
        ApiError: there is no batch or more than one, or it cannot be read.
    """
    start = f"Produce requests with version {version}"
    if len(records) < _PREFIX_BYTES:
        raise ApiError(ErrorCode.INVALID_RECORD, f"{start} must have at least one record batch")
    size = _PREFIX_BYTES + int.from_bytes(records[_LENGTH], signed=True)
    if not HEADER_BYTES <= size <= len(records):
        raise ApiError(ErrorCode.CORRUPT_MESSAGE)
    (
        _,
        _,
        _,
        magic,
        _,
        attributes,
        last_delta,
        base_time,
        max_time,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    ) = _HEADER.unpack_from(records)
    if magic != 2:
        only = "are only allowed to contain record batches with magic version 2"
        raise ApiError(ErrorCode.INVALID_RECORD, f"{start} {only}")
    if size != len(records):
        only = "are only allowed to contain exactly one record batch per partition"
        raise ApiError(ErrorCode.INVALID_RECORD, f"{start} {only}")
    if attributes & _COMPRESSION == _ZSTD and version < 7:
        text = f"{start} are not allowed to use ZStandard compression"
        raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, text)
    return Batch(
        records,
        attributes,
        last_delta,
        base_time,
        max_time,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    )


def check_batch(batch: Batch) -> None:
    """Check the checksum of a client's batch, and the fields of its header.

    Raises:
        ApiError: one of them is wrong.
    """
    if crc32c(batch.data[_CRC_FROM:]) != int.from_bytes(batch.data[_CRC]):
        raise ApiError(ErrorCode.CORRUPT_MESSAGE)
    if batch.attributes & _COMPRESSION > _ZSTD:
        raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    if batch.records <= 0 or batch.last_offset_delta != batch.records - 1:
        text = f"Inconsistent batch offset range: {batch.records} records"
        raise ApiError(ErrorCode.INVALID_RECORD, text)
    if batch.is_control:
        text = "Clients are not allowed to write control records"
        raise ApiError(ErrorCode.INVALID_RECORD, text)
    if batch.producer_id >= 0 and (batch.base_sequence < 0 or batch.producer_epoch < 0):
        text = f"Invalid sequence number {batch.base_sequence} in record batch"
        raise ApiError(ErrorCode.INVALID_RECORD, text)
    if batch.is_transactional and batch.producer_id < 0:
        raise ApiError(ErrorCode.INVALID_RECORD, "A transactional batch without a producer")


def place(batch: Batch, offset: int) -> bytes:
    """Return the bytes of a batch at an offset of the log."""
    data = batch.data
    return b"".join((_START.pack(offset), data[8:12], _EPOCH.pack(LEADER_EPOCH), data[16:]))


def with_append_time(batch: Batch, now_ms: int) -> Batch:
    """Return a batch whose records have the time at which they are appended."""
    data = bytearray(batch.data)
    attributes = batch.attributes | _LOG_APPEND_TIME
    data[21:23] = attributes.to_bytes(2)
    data[_MAX_TIME] = _START.pack(now_ms)
    data[_CRC] = crc32c(bytes(data[_CRC_FROM:])).to_bytes(4)
    return batch._replace(data=bytes(data), attributes=attributes, max_timestamp=now_ms)


def marker(producer_id: int, producer_epoch: int, now_ms: int, *, commits: bool) -> Batch:
    """Return the batch that ends a transaction in a partition."""
    key = _MARKER_KEY.pack(0, 1 if commits else 0)
    value = _MARKER_VALUE.pack(0, LEADER_EPOCH)
    # Attributes, time and offset of the record are 0: one byte each; no headers.
    body = b"\0\0\0" + _bytes(key) + _bytes(value) + b"\0"
    record = _varint(len(body)) + body
    attributes = _TRANSACTIONAL | _CONTROL
    fields = (attributes, 0, now_ms, now_ms, producer_id, producer_epoch, -1, 1)
    data = _HEADER.pack(0, HEADER_BYTES - _PREFIX_BYTES + len(record), 0, 2, 0, *fields) + record
    crc = crc32c(data[_CRC_FROM:]).to_bytes(4)
    return Batch(data[:17] + crc + data[_CRC_FROM:], *fields)


def find_record(batch: Batch, timestamp: int) -> tuple[int, int] | None:
    """Return offset delta and time of the first record of a time or a later one.

    Batches compressed with LZ4 or Snappy are not opened: their first record stands for all.
    """
    if batch.attributes & _LOG_APPEND_TIME:
        return (0, batch.max_timestamp) if batch.max_timestamp >= timestamp else None
    records = _decompress(batch)
    if records is None:
        return (0, batch.max_timestamp) if batch.max_timestamp >= timestamp else None
    for delta, time_delta in _deltas(records, batch.records):
        if batch.base_timestamp + time_delta >= timestamp:
            return delta, batch.base_timestamp + time_delta
    return None


def _decompress(batch: Batch) -> bytes | None:
    """Return the records of a batch; None if they cannot be read."""
    body = batch.data[HEADER_BYTES:]
    compression = batch.attributes & _COMPRESSION
    if compression == _NONE:
        return body
    if compression != _GZIP:
        return None
    try:
        # Bounded: a batch of a megabyte may hold a gigabyte of zeros.
        return zlib.decompressobj(_WITH_GZIP_HEADER).decompress(body, _DECOMPRESSED_BYTES_MAX)
    except zlib.error:
        return None


def _deltas(records: bytes, count: int) -> Iterator[tuple[int, int]]:
    """Yield offset and time of each record, relative to those of its batch."""
    at = 0
    try:
        for _ in range(count):
            size, at = _read_varint(records, at)
            time_delta, next_at = _read_varint(records, at + 1)
            delta, _ = _read_varint(records, next_at)
            yield delta, time_delta
            at += size
    except IndexError:
        # The checksum is right, so the producer has written this: it has no further records.
        return


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a zigzag varint of up to 64 bits."""
    value = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return (value >> 1) ^ -(value & 1), at


def _varint(value: int) -> bytes:
    """Return a zigzag varint of a small non-negative number."""
    value <<= 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes(data: bytes) -> bytes:
    return _varint(len(data)) + data
