"""Record batches of magic 2 to the records that a consumer gets: committed ones, no markers.

Source: ``DefaultRecordBatch``, ``CompletedFetch.nextFetchedRecord`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from google_crc32c import value as crc32c

from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.topics.compression import decompress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HEADER: Final = Struct(">qiibIhiqqqhii")
_PREFIX_BYTES: Final = 12
_CRC_FROM: Final = 21
_MAGIC_AT, _MAGIC = 16, 2
_COMPRESSION, _TRANSACTIONAL, _CONTROL = 0x07, 0x10, 0x20
_ABORT: Final = 0


class Record(NamedTuple):
    """The offset of a record and its value; None for a tombstone."""

    offset: int
    value: bytes | None


class Batch(NamedTuple):
    """A batch of so many records; control batches have markers of transactions."""

    first: int
    last: int
    attributes: int
    producer_id: int
    size: int
    body: bytes

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL)

    def records(self) -> Iterator[tuple[int, bytes | None, bytes | None]]:
        """Yield offset, key and value of each record.

        Raises:
            Unreadable: the batch is damaged.

        """
        data = decompress(self.attributes & _COMPRESSION, self.body)
        at = 0
        try:
            for _ in range(self.size):
                size, at = _varint(data, at)
                end = at + size
                # Attributes have a byte; the time is not needed.
                _, at = _varint(data, at + 1)
                delta, at = _varint(data, at)
                key, at = _bytes(data, at)
                value, _ = _bytes(data, at)
                if end > len(data):
                    raise IndexError  # noqa: TRY301  as a byte that is missing
                yield self.first + delta, key, value
                at = end
        except IndexError:
            raise Unreadable("a batch ends inside of a record") from None


def read_records(data: bytes, aborted: Sequence[tuple[int, int]]) -> tuple[list[Record], int]:
    """Return the committed records of a response, and the offset behind its last batch.

    ``aborted`` are the aborted transactions of the response: producer id and first offset. A batch
    that the response cuts off is left out. The offset is -1 where there is no whole batch.

    Raises:
        Unreadable: a batch is damaged, or of a release before Kafka 0.11.

    """
    waiting = sorted(aborted, key=lambda each: each[1], reverse=True)
    open_aborted: set[int] = set()
    found: list[Record] = []
    behind = -1
    for batch in _batches(data):
        behind = batch.last + 1
        while waiting and waiting[-1][1] <= batch.last:
            open_aborted.add(waiting.pop()[0])
        if batch.is_control:
            if any(_is_abort(key) for _, key, _ in batch.records()):
                open_aborted.discard(batch.producer_id)
        elif not (batch.attributes & _TRANSACTIONAL and batch.producer_id in open_aborted):
            found += [Record(offset, value) for offset, _, value in batch.records()]
    return found, behind


def _batches(data: bytes) -> Iterator[Batch]:
    at = 0
    while at + _HEADER.size <= len(data):
        if data[at + _MAGIC_AT] != _MAGIC:
            raise Unreadable(
                f"a batch of format {data[at + _MAGIC_AT]}; known is 2, of Kafka 0.11 and later"
            )
        first, length, _, _, crc, attributes, last_delta, _, _, producer_id, _, _, count = (
            _HEADER.unpack_from(data, at)
        )
        end = at + _PREFIX_BYTES + length
        if end > len(data):
            return
        if crc32c(data[at + _CRC_FROM : end]) != crc:
            raise Unreadable(f"the batch at offset {first} is damaged: its checksum is another")
        body = data[at + _HEADER.size : end]
        yield Batch(first, first + last_delta, attributes, producer_id, count, body)
        at = end


def _is_abort(key: bytes | None) -> bool:
    """Return whether the key of a control record, version and type, is that of an abort marker."""
    return key is not None and int.from_bytes(key[2:4]) == _ABORT


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
