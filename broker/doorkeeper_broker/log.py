"""The log of one partition: segments of record batches, in memory that all logs share.

Source: ``UnifiedLog`` of Kafka 4.3.1.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from doorkeeper.server.api.records import Log, TimedOffset
from doorkeeper_broker.batches import NO_PRODUCER, place
from doorkeeper_broker.contents import Inspection, find_record
from doorkeeper_broker.producers import PRODUCER_OVERHEAD, AbortedTransaction, Producers
from doorkeeper_wire.record_batches import RecordBatch

SEGMENT_BYTES_MAX: Final = 1_048_576
SEGMENTS_MIN: Final = 64
"""The number of segments that the memory has room for, so that little is dropped at a time."""

BATCH_OVERHEAD: Final = 300
"""The memory of the objects of a batch, beside its bytes (Python 3.11)."""


class Memory:
    """The memory of all logs: their segments, the oldest first."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.segment_bytes = min(SEGMENT_BYTES_MAX, bytes_max // SEGMENTS_MIN)
        self.used = 0
        self.inspection = Inspection()
        """What the request that is handled may look at; another one for each request."""
        self._segments: OrderedDict[Segment, PartitionLog] = OrderedDict()

    def add(self, log: PartitionLog, segment: Segment) -> None:
        """Take a new segment."""
        self._segments[segment] = log

    def remove(self, segment: Segment) -> None:
        """Give up a segment that its log has dropped."""
        del self._segments[segment]
        self.used -= segment.size

    def trim(self) -> None:
        """Drop the oldest segments while all logs together are too large."""
        while self.used > self.bytes_max and self._segments:
            # The oldest of all is the oldest of its log.
            segment, log = next(iter(self._segments.items()))
            log.delete_before(segment.next_offset)


class Segment:
    """Batches that are dropped together."""

    __slots__ = ("base_offset", "base_offsets", "batches", "next_offset", "overhead", "size")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.batches: list[RecordBatch] = []
        self.base_offsets: list[int] = []
        self.size = 0
        """Bytes of the batches with ``overhead``, those of the objects around them."""
        self.overhead = 0


class Slice(Struct, frozen=True):
    """Batches of a log, from one that has the wanted offset on."""

    batches: Sequence[RecordBatch]
    aborted: tuple[AbortedTransaction, ...] = ()

    @property
    def data(self) -> bytes:
        """Return the bytes of the batches."""
        if len(self.batches) == 1:
            return self.batches[0].data
        return b"".join(each.data for each in self.batches)


class PartitionLog(Log):
    """The log of one partition; offsets begin at 0."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.segments: list[Segment] = []
        self.producers = Producers()
        self.start_offset = 0
        self.end_offset = 0
        self.waiters: set[Callable[[], None]] = set()
        """Called after each append, when a transaction ends, and when the topic is deleted."""
        self.is_deleted = False

    @property
    def stable_offset(self) -> int:
        """Return the first offset of an open transaction, else the end."""
        found = self.producers.first_open_offset
        return self.end_offset if found is None else max(found, self.start_offset)

    @property
    def size(self) -> int:
        """Return the bytes of the batches that are kept."""
        return sum(each.size - each.overhead for each in self.segments)

    # --- appending

    def append(self, batch: RecordBatch, *, begins_at_zero: bool = False) -> int:
        """Append a batch; return its base offset.

        A batch that was appended before keeps its offset and is not appended again. The first one
        of a producer has any sequence number, unless it ``begins_at_zero``.

        Raises:
            ApiError: its producer is fenced, or its sequence number is wrong.
        """
        if batch.producer_id == NO_PRODUCER:
            return self._append_and_notify(batch)
        duplicate = self.producers.find_duplicate(batch)
        if duplicate is not None:
            return duplicate
        self.producers.check(batch, begins_at_zero=begins_at_zero)
        is_new = self.producers.append(batch, self.end_offset)
        return self._append_and_notify(batch, PRODUCER_OVERHEAD if is_new else 0)

    def _append_and_notify(self, batch: RecordBatch, overhead: int = 0) -> int:
        offset = self._append(batch, overhead)
        self.notify()
        return offset

    def append_marker(self, batch: RecordBatch, *, commits: bool) -> None:
        """Append the marker that ends a transaction."""
        offset = self._append(batch)
        self.producers.end_transaction(
            batch.producer_id, batch.producer_epoch, offset, commits=commits
        )
        self.notify()

    def _append(self, batch: RecordBatch, overhead: int = 0) -> int:
        memory, offset = self._memory, self.end_offset
        segment = self.segments[-1] if self.segments else None
        if segment is None or segment.size >= memory.segment_bytes:
            segment = Segment(offset)
            self.segments.append(segment)
            memory.add(self, segment)
        segment.batches.append(batch._replace(data=place(batch, offset)))
        segment.base_offsets.append(offset)
        overhead += BATCH_OVERHEAD
        size = len(batch.data) + overhead
        segment.size += size
        segment.overhead += overhead
        memory.used += size
        self.end_offset = segment.next_offset = offset + batch.last_offset_delta + 1
        if memory.used > memory.bytes_max:
            memory.trim()
        return offset

    def notify(self) -> None:
        """Call the waiters."""
        for waiter in tuple(self.waiters):
            waiter()

    # --- reading

    def read(self, offset: int, bytes_max: int, *, committed: bool, at_least_one: bool) -> Slice:
        """Return whole batches from an offset on, up to a size.

        ``at_least_one`` returns the first batch even if it is larger. The offset is in the log.
        """
        end = self.stable_offset if committed else self.end_offset
        batches: list[RecordBatch] = []
        size = 0
        for base, batch in self._batches_from(offset):
            if base >= end:
                break
            length = len(batch.data)
            if size + length > bytes_max and (batches or not at_least_one):
                break
            batches.append(batch)
            size += length
        if not committed or not batches:
            return Slice(batches)
        aborted = self.producers.find_aborted(offset, batches[-1].last_offset + 1)
        return Slice(batches, tuple(aborted))

    def readable_bytes(self, offset: int, bytes_max: int, *, committed: bool) -> int:
        """Return how many bytes ``read`` would return, counted up to a maximum."""
        end = self.stable_offset if committed else self.end_offset
        if offset >= end:
            return 0
        size = 0
        for base, batch in self._batches_from(offset):
            if base >= end or size >= bytes_max:
                break
            size += len(batch.data)
        return min(size, bytes_max)

    def _batches_from(self, offset: int) -> Iterator[tuple[int, RecordBatch]]:
        """Yield batches from the one that has an offset on, with their base offsets."""
        if offset >= self.end_offset:
            return
        number = bisect_right(self.segments, offset, key=lambda each: each.base_offset) - 1
        for segment in self.segments[max(number, 0) :]:
            first = max(bisect_right(segment.base_offsets, offset) - 1, 0)
            for number in range(first, len(segment.batches)):
                yield segment.base_offsets[number], segment.batches[number]

    def find_time(self, timestamp: int) -> TimedOffset | None:
        """Return the first record of this time or a later one."""
        for base, batch in self._batches_from(self.start_offset):
            if batch.max_timestamp < timestamp:
                continue
            found = find_record(batch, timestamp, self._memory.inspection)
            if found is not None and base + found[0] >= self.start_offset:
                return TimedOffset(base + found[0], found[1])
        return None

    def find_largest_time(self) -> TimedOffset | None:
        """Return the first record of the largest time."""
        batches = self._batches_from(self.start_offset)
        latest = max(batches, key=lambda each: each[1].max_timestamp, default=None)
        if latest is None:
            return None
        base, batch = latest
        found = find_record(batch, batch.max_timestamp, self._memory.inspection)
        # Nothing checks the deltas of records that are not compressed.
        delta = batch.last_offset_delta if found is None else max(found[0], 0)
        return TimedOffset(base + delta, batch.max_timestamp)

    # --- deleting

    def delete_before(self, offset: int) -> None:
        """Delete the records before an offset; a segment without records gives up its memory."""
        self.start_offset = max(self.start_offset, offset)
        while self.segments and self.segments[0].next_offset <= self.start_offset:
            self._memory.remove(self.segments.pop(0))
        kept = self.segments[0].base_offset if self.segments else self.end_offset
        self.producers.forget_before(kept)

    def delete(self) -> None:
        """Delete all records, with the topic."""
        self.delete_before(self.end_offset)
        self.is_deleted = True
        self.notify()
