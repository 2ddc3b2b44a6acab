"""Record batches of magic 2 to the records that a consumer gets: committed ones, no markers.

Batches are compressed with gzip, snappy, lz4 or zstd, all of which Arrow reads.

Source: ``DefaultRecordBatch``, ``CompletedFetch.nextFetchedRecord``, ``CompressionType`` and
``SnappyCompression`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from google_crc32c import value as crc32c

from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_wire import record_batches
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.record_batches import RecordBatch, read_batches

_ABORT: Final = 0


class Record(NamedTuple):
    """The offset of a record and its value; None for a tombstone."""

    offset: int
    value: bytes | None


def read_records(data: bytes, aborted: Sequence[tuple[int, int]]) -> tuple[list[Record], int]:
    """Return the committed records of a response, and the offset behind its last batch.

    ``aborted`` are the aborted transactions of the response: producer id and first offset. A batch
    that the response cuts off is left out. The offset is -1 where there is no whole batch.

    Raises:
        Unreadable: a batch is damaged, or of a release before Kafka 0.11.

    """
    waiting = sorted(aborted, key=lambda transaction: transaction[1], reverse=True)
    open_aborted: set[int] = set()
    records: list[Record] = []
    behind = -1
    for batch in _batches(data):
        behind = batch.last_offset + 1
        while waiting and waiting[-1][1] < behind:
            open_aborted.add(waiting.pop()[0])
        if batch.is_control:
            if any(_is_abort(record.key) for _, record in _records(batch)):
                open_aborted.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in open_aborted):
            records += [Record(offset, record.value) for offset, record in _records(batch)]
    return records, behind


def _batches(data: bytes) -> Iterator[RecordBatch]:
    try:
        for batch in read_batches(data):
            if crc32c(batch.checked) != batch.checksum:
                offset = batch.base_offset
                raise Unreadable(
                    f"the batch at offset {offset} is damaged: its checksum does not match"
                )
            yield batch
    except Malformed as error:
        raise Unreadable(error.reason) from None


def _records(batch: RecordBatch) -> Iterator[tuple[int, record_batches.Record]]:
    """Yield the records, each with its offset."""
    try:
        for record in batch.records(decompress(batch.compression, batch.body)):
            yield batch.base_offset + record.offset_delta, record
    except Malformed as error:
        raise Unreadable(error.reason) from None


def _is_abort(key: bytes | None) -> bool:
    """Return whether the key of a control record, version and type, is that of an abort marker."""
    return key is not None and int.from_bytes(key[2:4]) == _ABORT


BYTES_MAX: Final = 256 << 20
"""The most that a batch may unpack to: brokers accept batches of a megabyte, and a batch of zeros
may be a thousand times as large unpacked."""

PART_BYTES: Final = 1 << 20
_XERIAL: Final = b"\x82SNAPPY\x00"
"""The begin of the frames of Java's library; others send plain snappy."""

_XERIAL_HEADER: Final = 16


def decompress(kind: int, data: bytes) -> bytes:
    """Return the records of a batch; ``kind`` is the code of its attributes.

    Raises:
        Unreadable: they are damaged, too large, or in no compression of Kafka's.

    """
    if kind == 0:
        return data
    known: dict[int, tuple[str, Callable[[bytes], bytes]]] = {
        1: ("gzip", lambda packed: _stream("gzip", packed)),
        2: ("snappy", _snappy),
        3: ("lz4", lambda packed: _stream("lz4", packed)),
        4: ("zstd", lambda packed: _stream("zstd", packed)),
    }
    if kind not in known:
        raise Unreadable(
            f"found compression {kind}; supported: gzip, snappy, lz4 and zstd (1 to 4)"
        )
    name, unpack = known[kind]
    try:
        unpacked = unpack(data)
    except (OSError, ValueError, IndexError) as error:
        raise Unreadable(f"damaged {name}: {' '.join(str(error).split())}") from error
    if len(unpacked) > BYTES_MAX:
        raise Unreadable(f"{name}: a batch of more than {BYTES_MAX >> 20} MB")
    return unpacked


def _stream(name: str, packed: bytes) -> bytes:
    import pyarrow as pa

    parts: list[bytes] = []
    with pa.CompressedInputStream(pa.BufferReader(packed), name) as stream:
        # The whole size at once would be allocated for each small batch.
        while len(parts) * PART_BYTES <= BYTES_MAX and (part := stream.read(PART_BYTES)):
            parts.append(part)
    return b"".join(parts)


def _snappy(packed: bytes) -> bytes:
    """Unpack plain snappy, or blocks of it, each after its length."""
    if not packed.startswith(_XERIAL):
        return _snappy_block(packed)
    parts = []
    at, size = _XERIAL_HEADER, 0
    while at < len(packed) and size <= BYTES_MAX:
        length = int.from_bytes(packed[at : at + 4])
        block = packed[at + 4 : at + 4 + length]
        if len(block) != length:
            raise ValueError("it is cut off")
        parts.append(_snappy_block(block))
        size += len(parts[-1])
        at += 4 + length
    return b"".join(parts)


def _snappy_block(block: bytes) -> bytes:
    import pyarrow as pa

    size = shift = 0
    for byte in block[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    # Snappy copies at most 64 bytes for two or three of its own.
    if size > BYTES_MAX or size > 64 * len(block):
        raise ValueError(f"it claims {size} bytes")
    return bytes(pa.decompress(block, decompressed_size=size, codec="snappy", asbytes=True))
