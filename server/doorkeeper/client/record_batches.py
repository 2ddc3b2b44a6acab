"""Batches of records, as Fetch and FetchSnapshot return them: magic 2, of Kafka 0.11 and later.

Source: ``DefaultRecordBatch`` and ``DefaultRecord`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from doorkeeper.client.errors import UnreadableRecords

_HEADER: Final = Struct(">qiibIhiqqqhii")
_PREFIX_BYTES: Final = 12
_CRC_FROM: Final = 21
_MAGIC_AT, _MAGIC = 16, 2
_COMPRESSION, _TRANSACTIONAL, _CONTROL = 0x07, 0x10, 0x20


class RecordBatch(NamedTuple):
    """A batch of so many records; control batches have markers of transactions or of the log.

    ``epoch`` is that of the leader that wrote it. The checksum, a CRC-32C, is of ``checked``.
    """

    first: int
    last: int
    epoch: int
    checksum: int
    attributes: int
    producer_id: int
    size: int
    checked: bytes

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def compression(self) -> int:
        """Return the code of the compression; 0 for none."""
        return self.attributes & _COMPRESSION

    @property
    def body(self) -> bytes:
        """Return the records, compressed if the batch is."""
        return self.checked[_HEADER.size - _CRC_FROM :]

    def records(self, body: bytes) -> Iterator[tuple[int, bytes | None, bytes | None]]:
        """Yield offset, key and value of each record of a body that is not compressed.

        Raises:
            UnreadableRecords: the body is cut off.
        """
        at = 0
        try:
            for _ in range(self.size):
                size, at = _varint(body, at)
                end = at + size
                # Attributes have a byte; the time is not needed.
                _, at = _varint(body, at + 1)
                delta, at = _varint(body, at)
                key, at = _bytes(body, at)
                value, _ = _bytes(body, at)
                if end > len(body):
                    raise IndexError
                yield self.first + delta, key, value
                at = end
        except IndexError:
            raise UnreadableRecords("a batch ends inside of a record") from None


def read_batches(data: bytes) -> Iterator[RecordBatch]:
    """Yield the batches; one that the data cuts off is left out. Checksums are not compared.

    Raises:
        UnreadableRecords: a batch has another format.
    """
    at = 0
    while at + _HEADER.size <= len(data):
        if data[at + _MAGIC_AT] != _MAGIC:
            raise UnreadableRecords(
                f"a batch of format {data[at + _MAGIC_AT]}; known is 2, of Kafka 0.11 and later"
            )
        first, length, epoch, _, crc, attributes, last_delta, _, _, producer_id, _, _, count = (
            _HEADER.unpack_from(data, at)
        )
        end = at + _PREFIX_BYTES + length
        if length < _HEADER.size - _PREFIX_BYTES:
            raise UnreadableRecords(f"a batch of {length} bytes")
        if end > len(data):
            return
        checked = data[at + _CRC_FROM : end]
        yield RecordBatch(
            first, first + last_delta, epoch, crc, attributes, producer_id, count, checked
        )
        at = end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a zigzag varint of up to 64 bits."""
    value = data[at]
    at += 1
    if value >= 0x80:
        value &= 0x7F
        for shift in range(7, 70, 7):
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
    return (value >> 1) ^ -(value & 1), at


def _bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _varint(data, at)
    return (None, at) if size < 0 else (data[at : at + size], at + size)
