"""Record batches of Produce requests: what a broker refuses and writes; batches of markers.

A batch stays as the producer sent it. Only its base offset and leader epoch are written, which its
checksum does not cover; with LogAppendTime also its times.

Source: ``DefaultRecordBatch``, ``ControlRecordType`` and ``LogValidator`` of Kafka 4.3.1.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from google_crc32c import value as crc32c

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper_wire.record_batches import (
    CHECKED_FROM,
    CONTROL,
    CRC_AT,
    HEADER,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    MAGIC,
    MAGIC_AT,
    PREFIX_BYTES,
    TRANSACTIONAL,
    RecordBatch,
    header_of,
    varint,
)

LEADER_EPOCH: Final = 0
NO_PRODUCER: Final = -1

_START: Final = Struct(">q")
_EPOCH: Final = Struct(">i")
_LENGTH_MIN: Final = 14
"""That of the oldest format; a broker looks at the magic after it."""
_INT_MAX: Final = 0x7FFFFFFF
_ZSTD: Final = 4

_MAX_TIME: Final = slice(35, 43)
_MARKER_KEY: Final = Struct(">hh")
_MARKER_VALUE: Final = Struct(">hi")


def read_batch(records: bytes, version: int) -> RecordBatch:
    """Return the one batch of a partition in a Produce request; ``check_batch`` comes later.

    Bytes behind it that are less than a batch are left out, as by a broker.

    Raises:
        ApiError: there is no batch or more than one, or it cannot be read.
    """
    start = f"Produce requests with version {version}"
    size = _next_size(records, 0)
    if size is None:
        raise ApiError(ErrorCode.INVALID_RECORD, f"{start} must have at least one record batch")
    if records[MAGIC_AT] != MAGIC:
        only = "are only allowed to contain record batches with magic version 2"
        raise ApiError(ErrorCode.INVALID_RECORD, f"{start} {only}")
    if size < HEADER_BYTES:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE)
    batch = header_of(records[:size])
    compression = batch.compression
    if compression > _ZSTD:
        text = f"Unknown compression type id: {compression}"
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, text)
    if compression == _ZSTD and version < 7:
        text = f"{start} are not allowed to use ZStandard compression"
        raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, text)
    if _next_size(records, size) is not None:
        only = "are only allowed to contain exactly one record batch per partition"
        raise ApiError(ErrorCode.INVALID_RECORD, f"{start} {only}")
    return batch


def _next_size(records: bytes, at: int) -> int | None:
    """Return the size of the batch at a place; None if it is not whole.

    Raises:
        ApiError: these bytes are no batch.
    """
    left = len(records) - at
    if left < PREFIX_BYTES:
        return None
    length = int.from_bytes(records[at + 8 : at + 12], signed=True)
    if length < _LENGTH_MIN:
        text = f"Record size {length} is less than the minimum record overhead ({_LENGTH_MIN})"
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, text)
    if left <= MAGIC_AT:
        return None
    magic = int.from_bytes(records[at + MAGIC_AT : at + MAGIC_AT + 1], signed=True)
    if not 0 <= magic <= MAGIC:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}")
    size = PREFIX_BYTES + length
    if size > _INT_MAX:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)  # A broker's sum is a negative number.
    return size if size <= left else None


def check_batch(batch: RecordBatch) -> None:
    """Check the checksum of a client's batch, and the fields of its header.

    Raises:
        ApiError: one of them is wrong.
    """
    if batch.base_offset != 0:
        text = f"The base offset of a record batch should be 0, but it is {batch.base_offset}"
        raise ApiError(ErrorCode.INVALID_RECORD, text)
    if crc32c(batch.checked) != batch.checksum:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE)
    if batch.record_count <= 0 or batch.last_offset_delta != batch.record_count - 1:
        text = f"Inconsistent batch offset range: {batch.record_count} records"
        raise ApiError(ErrorCode.INVALID_RECORD, text)
    if batch.is_control:
        text = "Clients are not allowed to write control records"
        raise ApiError(ErrorCode.INVALID_RECORD, text)
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        text = f"Invalid sequence number {batch.base_sequence} in record batch"
        raise ApiError(ErrorCode.INVALID_RECORD, text)
    if batch.is_transactional and batch.producer_id < 0:
        raise ApiError(ErrorCode.INVALID_RECORD, "A transactional batch without a producer id")


def place(batch: RecordBatch, offset: int) -> bytes:
    """Return the bytes of a batch at an offset of the log."""
    data = batch.data
    return b"".join((_START.pack(offset), data[8:12], _EPOCH.pack(LEADER_EPOCH), data[16:]))


def with_append_time(batch: RecordBatch, now_ms: int) -> RecordBatch:
    """Return a batch whose records have the time at which they are appended."""
    data = bytearray(batch.data)
    attributes = batch.attributes | LOG_APPEND_TIME
    data[21:23] = attributes.to_bytes(2)
    data[_MAX_TIME] = _START.pack(now_ms)
    data[CRC_AT:CHECKED_FROM] = crc32c(bytes(data[CHECKED_FROM:])).to_bytes(4)
    return batch._replace(data=bytes(data), attributes=attributes, max_timestamp=now_ms)


def marker(producer_id: int, producer_epoch: int, now_ms: int, *, commits: bool) -> RecordBatch:
    """Return the batch that ends a transaction in a partition."""
    key = _MARKER_KEY.pack(0, 1 if commits else 0)
    value = _MARKER_VALUE.pack(0, LEADER_EPOCH)
    # Attributes, time and offset of the record are 0: one byte each; no headers.
    body = b"\0\0\0" + _bytes(key) + _bytes(value) + b"\0"
    record = varint(len(body)) + body
    attributes = TRANSACTIONAL | CONTROL
    fields = (attributes, 0, now_ms, now_ms, producer_id, producer_epoch, -1, 1)
    length = HEADER_BYTES - PREFIX_BYTES + len(record)
    data = HEADER.pack(0, length, LEADER_EPOCH, MAGIC, 0, *fields) + record
    crc = crc32c(data[CHECKED_FROM:]).to_bytes(4)
    return header_of(data[:CRC_AT] + crc + data[CHECKED_FROM:])


def _bytes(data: bytes) -> bytes:
    return varint(len(data)) + data
