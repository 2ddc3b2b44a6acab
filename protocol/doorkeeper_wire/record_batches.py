"""Batches of records, as in Produce, Fetch and FetchSnapshot: magic 2, of Kafka 0.11 and later.

A batch is a header of 61 bytes and its records, which may be compressed together. Numbers of
records are zigzag varints. Checksums, CRC-32C of `checked`, are compared by callers.

Source: `DefaultRecordBatch`, `DefaultRecord` and `ByteUtils` of kafka-clients 4.3.1.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from doorkeeper_wire.errors import Malformed

HEADER: Final = Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, checksum, and the fields of `RecordBatch`."""

HEADER_BYTES: Final = HEADER.size
PREFIX_BYTES: Final = 12
"""Base offset and length; the length counts what comes after it."""

MAGIC_AT: Final = 16
MAGIC: Final = 2
CRC_AT: Final = 17
CHECKED_FROM: Final = 21

COMPRESSION: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20

_INT, _LONG = (5, 0xFFFFFFFF), (10, 0xFFFFFFFFFFFFFFFF)


class Record(NamedTuple):
    """A record: offset and time count from those of its batch; headers are left out."""

    offset_delta: int
    time_delta: int
    key: bytes | None
    value: bytes | None


class RecordBatch(NamedTuple):
    """The header of a batch, and all of its bytes.

    Control batches have markers of transactions or of the log.
    """

    data: bytes
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def base_offset(self) -> int:
        return int.from_bytes(self.data[:8], signed=True)

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def leader_epoch(self) -> int:
        return int.from_bytes(self.data[PREFIX_BYTES:MAGIC_AT], signed=True)

    @property
    def checksum(self) -> int:
        return int.from_bytes(self.data[CRC_AT:CHECKED_FROM])

    @property
    def checked(self) -> bytes:
        """Return the bytes that the checksum covers."""
        return self.data[CHECKED_FROM:]

    @property
    def body(self) -> bytes:
        """Return the records, compressed if the batch is."""
        return self.data[HEADER_BYTES:]

    @property
    def compression(self) -> int:
        """Return the code of the compression; 0 for none."""
        return self.attributes & COMPRESSION

    @property
    def has_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def last_sequence(self) -> int:
        """Return the sequence number of the last record; it begins again after 2**31 - 1."""
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    def records(self, body: bytes) -> Iterator[Record]:
        """Yield the records of a body that is not compressed.

        Raises:
            Malformed: the body is cut off, or is not one of records.
        """
        at = 0
        try:
            for _ in range(self.record_count):
                size, start = read_int(body, at)
                end = start + size
                if not start <= end <= len(body):
                    raise IndexError
                # A byte of attributes comes first.
                time_delta, at = read_long(body, start + 1)
                offset_delta, at = read_int(body, at)
                key, at = _octets(body, at)
                value, _ = _octets(body, at)
                yield Record(offset_delta, time_delta, key, value)
                at = end
        except IndexError:
            raise Malformed("records", at, "the batch ends within a record") from None


def header_of(data: bytes) -> RecordBatch:
    """Return the batch that these bytes are, of magic 2 and `HEADER_BYTES` at least."""
    _, _, _, _, _, *fields = HEADER.unpack_from(data)
    return RecordBatch(data, *fields)


def read_batches(data: bytes) -> Iterator[RecordBatch]:
    """Yield the batches; one that the data cuts off is left out.

    Raises:
        Malformed: a batch has another format.
    """
    at = 0
    while at + HEADER_BYTES <= len(data):
        magic = data[at + MAGIC_AT]
        if magic != MAGIC:
            text = f"a batch of format {magic}; supported: 2, of Kafka 0.11 and later"
            raise Malformed("records", at, text)
        length = int.from_bytes(data[at + 8 : at + PREFIX_BYTES], signed=True)
        end = at + PREFIX_BYTES + length
        if end < at + HEADER_BYTES:
            raise Malformed("records", at, f"a batch of {length} bytes")
        if end > len(data):
            return
        yield header_of(data[at:end])
        at = end


def varint(value: int) -> bytes:
    """Return a zigzag varint of 64 bits."""
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_int(data: bytes, at: int) -> tuple[int, int]:
    """Read a zigzag varint of 32 bits; return it, and the offset of its end.

    Raises:
        Malformed: it has more than five bytes.
        IndexError: the data ends before it does.
    """
    value = data[at]
    if value < 0x80:
        return (value >> 1) ^ -(value & 1), at + 1
    return _read(data, at, *_INT)


def read_long(data: bytes, at: int) -> tuple[int, int]:
    """Read a zigzag varint of 64 bits; return it, and the offset of its end.

    Raises:
        Malformed: it has more than ten bytes.
        IndexError: the data ends before it does.
    """
    value = data[at]
    if value < 0x80:
        return (value >> 1) ^ -(value & 1), at + 1
    return _read(data, at, *_LONG)


def _read(data: bytes, at: int, bytes_max: int, mask: int) -> tuple[int, int]:
    value = shift = 0
    for end in range(at, at + bytes_max):
        byte = data[end]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= mask
            return (value >> 1) ^ -(value & 1), end + 1
        shift += 7
    raise Malformed("records", at, f"found a varint of more than {bytes_max} bytes")


def _octets(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = read_int(data, at)
    return (None, at) if size < 0 else (data[at : at + size], at + size)
