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
    __slots__ = ("batches", "epoch", "transaction_offset")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: deque[AppendedBatch] = deque(maxlen=KEPT_BATCHES)
        self.transaction_offset: int | None = None


class Producers:
    """The producers of one partition."""

    def __init__(self) -> None:
        self._producers: dict[int, _Producer] = {}
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

    def check(self, batch: RecordBatch) -> None:
        """Check epoch and sequence of a batch that is not a duplicate.

        Raises:
            ApiError: the producer is fenced, or a batch is missing before this one.
        """
        found = self._producers.get(batch.producer_id)
        if found is None:
            return
        if batch.producer_epoch < found.epoch:
            raise ApiError(ErrorCode.INVALID_PRODUCER_EPOCH)
        if batch.producer_epoch > found.epoch:
            expected = 0
        elif found.batches:
            expected = (found.batches[-1].last + 1) & 0x7FFFFFFF
        else:
            # Only a marker of this epoch is known: as on a broker any number may follow.
            expected = batch.base_sequence
        if batch.base_sequence != expected:
            raise ApiError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        if not batch.is_transactional and found.transaction_offset is not None:
            raise ApiError(ErrorCode.INVALID_TXN_STATE)

    def append(self, batch: RecordBatch, offset: int) -> None:
        """Record a batch at its offset."""
        found = self._producers.get(batch.producer_id)
        if found is None:
            found = self._producers[batch.producer_id] = _Producer(batch.producer_epoch)
        elif found.epoch != batch.producer_epoch:
            found.epoch = batch.producer_epoch
            found.batches.clear()
        found.batches.append(AppendedBatch(batch.base_sequence, batch.last_sequence, offset))
        if batch.is_transactional and found.transaction_offset is None:
            found.transaction_offset = offset

    def end_transaction(
        self, producer_id: int, epoch: int, marker_offset: int, *, commits: bool
    ) -> None:
        """Record a marker; it fences older epochs."""
        found = self._producers.get(producer_id)
        if found is None:
            found = self._producers[producer_id] = _Producer(epoch)
        if found.epoch != epoch:
            found.epoch = epoch
            found.batches.clear()
        first, found.transaction_offset = found.transaction_offset, None
        if first is not None and not commits:
            self.aborted.append(AbortedTransaction(producer_id, first, marker_offset))

    @property
    def first_open_offset(self) -> int | None:
        """Return the first offset of any open transaction."""
        open_ = [
            each.transaction_offset
            for each in self._producers.values()
            if each.transaction_offset is not None
        ]
        return min(open_, default=None)

    def find_aborted(self, start: int, end: int) -> list[AbortedTransaction]:
        """Return the aborted transactions with records or a marker in these offsets."""
        return [
            each for each in self.aborted if each.last_offset >= start and each.first_offset < end
        ]

    def forget_before(self, offset: int) -> None:
        """Forget aborted transactions whose records are deleted."""
        self.aborted = [each for each in self.aborted if each.last_offset >= offset]
