"""The producers of one partition: their sequence numbers, and their open transactions.

Source: ``ProducerStateManager`` and ``ProducerAppendInfo`` of Kafka 4.3.1.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper_wire.record_batches import RecordBatch

KEPT_BATCHES: Final = 5
"""The batches of a producer in which duplicates are found, as many as one may have in flight."""


PRODUCERS_MAX: Final = 10_000
"""Producers of one partition that are remembered: a client may give each batch another id."""

PRODUCER_OVERHEAD: Final = 1_000
"""The bytes that a producer takes, counted with its first batch."""


class AppendedBatch(NamedTuple):
    """Sequence numbers and base offset of an appended batch."""

    first: int
    last: int
    offset: int


class AbortedTransaction(NamedTuple):
    """A transaction that was aborted; ``last_offset`` is that of its marker."""

    producer_id: int
    first_offset: int
    last_offset: int


class _Producer:
    __slots__ = ("batches", "epoch", "last_offset")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.last_offset = -1
        self.batches: deque[AppendedBatch] = deque(maxlen=KEPT_BATCHES)


class Producers:
    """The producers of one partition."""

    def __init__(self) -> None:
        self._producers: dict[int, _Producer] = {}
        """By id, those that have appended last at the end."""
        self._has_forgotten = False
        """Whether one that is not known may have appended before."""
        self._open: dict[int, int] = {}
        """The first offset of each open transaction, by the id of its producer, in order."""
        self.aborted: list[AbortedTransaction] = []
        """Aborted transactions, in the order of their markers."""

    def find_duplicate(self, batch: RecordBatch) -> int | None:
        """Return the offset of a batch that was appended before; None for a new one."""
        found = self._producers.get(batch.producer_id)
        if found is None or found.epoch != batch.producer_epoch:
            return None
        wanted = batch.base_sequence, batch.last_sequence
        for each in found.batches:
            if each[:2] == wanted:
                return each.offset
        return None

    def check(self, batch: RecordBatch, *, begins_at_zero: bool = False) -> None:
        """Check epoch and sequence of a batch that is not a duplicate.

        Raises:
            ApiError: the producer is fenced, or a batch is missing before this one.
        """
        found = self._producers.get(batch.producer_id)
        if found is None:
            if begins_at_zero and batch.base_sequence and not self._has_forgotten:
                raise ApiError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
            return
        if batch.producer_epoch < found.epoch:
            raise ApiError(ErrorCode.INVALID_PRODUCER_EPOCH)
        expected = 0
        # Without batches only a marker of this epoch is known.
        if batch.producer_epoch == found.epoch and found.batches:
            expected = (found.batches[-1].last + 1) & 0x7FFFFFFF
        if batch.base_sequence != expected:
            raise ApiError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        if not batch.is_transactional and batch.producer_id in self._open:
            raise ApiError(ErrorCode.INVALID_TXN_STATE)

    def __len__(self) -> int:
        return len(self._producers)

    def append(self, batch: RecordBatch, offset: int) -> bool:
        """Record a batch at its offset; return whether its producer was not known."""
        found, is_new = self._used(batch.producer_id, batch.producer_epoch, offset)
        found.batches.append(AppendedBatch(batch.base_sequence, batch.last_sequence, offset))
        if batch.is_transactional:
            self._open.setdefault(batch.producer_id, offset)
        return is_new

    def _used(self, producer_id: int, epoch: int, offset: int) -> tuple[_Producer, bool]:
        """Return a producer that appends now, in this epoch, and whether it is new."""
        found = self._producers.pop(producer_id, None)
        is_new = found is None
        if found is None:
            found = _Producer(epoch)
            if len(self._producers) >= PRODUCERS_MAX:
                self._forget_oldest()
        elif found.epoch != epoch:
            found.epoch = epoch
            found.batches.clear()
        found.last_offset = offset
        self._producers[producer_id] = found
        return found, is_new

    def _forget_oldest(self) -> None:
        oldest = next((each for each in self._producers if each not in self._open), None)
        if oldest is not None:
            del self._producers[oldest]
            self._has_forgotten = True

    def end_transaction(
        self, producer_id: int, epoch: int, marker_offset: int, *, commits: bool
    ) -> None:
        """Record a marker; it fences older epochs."""
        self._used(producer_id, epoch, marker_offset)
        first = self._open.pop(producer_id, None)
        if first is not None and not commits:
            self.aborted.append(AbortedTransaction(producer_id, first, marker_offset))

    @property
    def first_open_offset(self) -> int | None:
        """Return the first offset of any open transaction."""
        return next(iter(self._open.values()), None)

    def find_aborted(self, start: int, end: int) -> list[AbortedTransaction]:
        """Return the aborted transactions with records or a marker in these offsets."""
        return [
            each for each in self.aborted if each.last_offset >= start and each.first_offset < end
        ]

    def forget_before(self, offset: int) -> None:
        """Forget aborted transactions and producers whose records are deleted.

        A producer with an open transaction stays. From then on one that is not known may come
        with any sequence number: a broker keeps producers longer than their records.
        """
        self.aborted = [each for each in self.aborted if each.last_offset >= offset]
        count = len(self._producers)
        self._producers = {
            producer_id: producer
            for producer_id, producer in self._producers.items()
            if producer.last_offset >= offset or producer_id in self._open
        }
        self._has_forgotten = self._has_forgotten or len(self._producers) < count
