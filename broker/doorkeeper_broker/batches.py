"""Record batches of magic 2, as bytes: their header, and batches of markers.

A batch stays as the producer sent it. Only its base offset and leader epoch are written, which its
checksum does not cover; with LogAppendTime also its times.

Source: ``DefaultRecordBatch``, ``ControlRecordType`` and ``LogValidator`` of Kafka 4.3.1.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from google_crc32c import value as crc32c

from doorkeeper.base.errors import ApiError, ErrorCode

LEADER_EPOCH: Final = 0
NO_PRODUCER: Final = -1

_HEADER: Final = Struct(">qiibIhiqqqhii")
HEADER_BYTES: Final = _HEADER.size
_PREFIX_BYTES: Final = 12
_CRC_FROM: Final = 21
_START: Final = Struct(">q")
_EPOCH: Final = Struct(">i")
_LENGTH_MIN: Final = 14
"""That of the oldest format; a broker looks at the magic after it."""
_MAGIC: Final = 16
_MAGIC_2: Final = 2
_INT_MAX: Final = 0x7FFFFFFF
_CRC: Final = slice(17, 21)

_COMPRESSION: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_ZSTD: Final = 4

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
    def base_offset(self) -> int:
        return int.from_bytes(self.data[:8], signed=True)

    @property
    def compression(self) -> int:
        return self.attributes & _COMPRESSION

    @property
    def has_append_time(self) -> bool:
        return bool(self.attributes & _LOG_APPEND_TIME)

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

    Bytes behind it that are less than a batch are left out, as by a broker.

    Raises:
        ApiError: there is no batch or more than one, or it cannot be read.
    """
    start = f"Produce requests with version {version}"
    size = _next_size(records, 0)
    if size is None:
        raise ApiError(ErrorCode.INVALID_RECORD, f"{start} must have at least one record batch")
    if records[_MAGIC] != _MAGIC_2:
        only = "are only allowed to contain record batches with magic version 2"
        raise ApiError(ErrorCode.INVALID_RECORD, f"{start} {only}")
    if size < HEADER_BYTES:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE)
    (
        _,
        _,
        _,
        _,
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
    compression = attributes & _COMPRESSION
    if compression > _ZSTD:
        text = f"Unknown compression type id: {compression}"
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, text)
    if compression == _ZSTD and version < 7:
        text = f"{start} are not allowed to use ZStandard compression"
        raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, text)
    if _next_size(records, size) is not None:
        only = "are only allowed to contain exactly one record batch per partition"
        raise ApiError(ErrorCode.INVALID_RECORD, f"{start} {only}")
    return Batch(
        records[:size],
        attributes,
        last_delta,
        base_time,
        max_time,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    )


def _next_size(records: bytes, at: int) -> int | None:
    """Return the size of the batch at a place; None if it is not whole.

    Raises:
        ApiError: these bytes are no batch.
    """
    left = len(records) - at
    if left < _PREFIX_BYTES:
        return None
    length = int.from_bytes(records[at + 8 : at + 12], signed=True)
    if length < _LENGTH_MIN:
        text = f"Record size {length} is less than the minimum record overhead ({_LENGTH_MIN})"
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, text)
    if left <= _MAGIC:
        return None
    magic = int.from_bytes(records[at + _MAGIC : at + _MAGIC + 1], signed=True)
    if not 0 <= magic <= _MAGIC_2:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}")
    size = _PREFIX_BYTES + length
    if size > _INT_MAX:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)  # A broker's sum is a negative number.
    return size if size <= left else None


def check_batch(batch: Batch) -> None:
    """Check the checksum of a client's batch, and the fields of its header.

    Raises:
        ApiError: one of them is wrong.
    """
    if batch.base_offset != 0:
        text = f"The base offset of a record batch should be 0, but it is {batch.base_offset}"
        raise ApiError(ErrorCode.INVALID_RECORD, text)
    if crc32c(batch.data[_CRC_FROM:]) != int.from_bytes(batch.data[_CRC]):
        raise ApiError(ErrorCode.CORRUPT_MESSAGE)
    if batch.records <= 0 or batch.last_offset_delta != batch.records - 1:
        text = f"Inconsistent batch offset range: {batch.records} records"
        raise ApiError(ErrorCode.INVALID_RECORD, text)
    if batch.is_control:
        text = "Clients are not allowed to write control records"
        raise ApiError(ErrorCode.INVALID_RECORD, text)
    if batch.producer_id >= 0 and batch.base_sequence < 0:
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
    record = varint(len(body)) + body
    attributes = _TRANSACTIONAL | _CONTROL
    fields = (attributes, 0, now_ms, now_ms, producer_id, producer_epoch, -1, 1)
    data = _HEADER.pack(0, HEADER_BYTES - _PREFIX_BYTES + len(record), 0, 2, 0, *fields) + record
    crc = crc32c(data[_CRC_FROM:]).to_bytes(4)
    return Batch(data[:17] + crc + data[_CRC_FROM:], *fields)


def varint(value: int) -> bytes:
    """Return a zigzag varint of a small non-negative number."""
    value <<= 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes(data: bytes) -> bytes:
    return varint(len(data)) + data
