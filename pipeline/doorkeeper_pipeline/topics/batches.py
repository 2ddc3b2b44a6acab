"""Record batches of magic 2 to the records that a consumer gets: committed ones, no markers.

Source: ``DefaultRecordBatch``, ``CompletedFetch.nextFetchedRecord`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from google_crc32c import value as crc32c

from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.topics.compression import decompress
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
    waiting = sorted(aborted, key=lambda each: each[1], reverse=True)
    open_aborted: set[int] = set()
    found: list[Record] = []
    behind = -1
    for batch in _batches(data):
        behind = batch.last_offset + 1
        while waiting and waiting[-1][1] < behind:
            open_aborted.add(waiting.pop()[0])
        if batch.is_control:
            if any(_is_abort(record.key) for _, record in _records(batch)):
                open_aborted.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in open_aborted):
            found += [Record(offset, record.value) for offset, record in _records(batch)]
    return found, behind


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
    """Yield the records, each with its offset.

    Raises:
        Unreadable: the batch is damaged.

    """
    try:
        for record in batch.records(decompress(batch.compression, batch.body)):
            yield batch.base_offset + record.offset_delta, record
    except Malformed as error:
        raise Unreadable(error.reason) from None


def _is_abort(key: bytes | None) -> bool:
    """Return whether the key of a control record, version and type, is that of an abort marker."""
    return key is not None and int.from_bytes(key[2:4]) == _ABORT
