"""The transactions of each transactional id: its producer, its partitions and offsets.

A state machine without a clock. ``Ending`` names what the driver must write: markers into
partitions, and on a commit offsets of groups; then it calls ``complete``.

    Empty -> Ongoing -> PrepareCommit or PrepareAbort -> CompleteCommit or CompleteAbort -> Ongoing

Source: ``TransactionCoordinator`` and ``TransactionMetadata`` of Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.records import DescribedTransaction
from doorkeeper.server.resources.groups import GROUPS_MAX, SIZE_MAX, Offsets, size_of
from doorkeeper.server.schema.declared import StoredOffset

EMPTY: Final = "Empty"
ONGOING: Final = "Ongoing"
PREPARE_COMMIT: Final = "PrepareCommit"
PREPARE_ABORT: Final = "PrepareAbort"
COMPLETE_COMMIT: Final = "CompleteCommit"
COMPLETE_ABORT: Final = "CompleteAbort"

EPOCH_MAX: Final = 32_766
"""The last epoch of a producer id: then it gets another id."""

IDS_MAX: Final = 10_000
"""The transactional ids of a server. A broker has no bound, but forgets them after a week."""

ADDS_PARTITIONS_FROM: Final = 12
"""The version of Produce whose batches make their partitions part of the transaction (KIP-890)."""

Partition = tuple[str, int]
"""Name of a topic, and number of a partition."""


class Producer(NamedTuple):
    """The id and the epoch of a producer."""

    producer_id: int
    epoch: int


class Ending(Struct, frozen=True):
    """A transaction that ends, with all that must be written."""

    transaction: Transaction
    producer: Producer
    commits: bool
    partitions: tuple[Partition, ...]
    offsets: tuple[StoredOffset, ...]


class Transaction:
    """The transactions of one transactional id."""

    __slots__ = (
        "deadline_ms",
        "groups",
        "last",
        "offsets",
        "partitions",
        "producer",
        "start_ms",
        "state",
        "timeout_ms",
        "transactional_id",
    )

    def __init__(self, transactional_id: str, producer_id: int) -> None:
        self.transactional_id = transactional_id
        self.producer = Producer(producer_id, -1)
        self.last: Producer | None = None
        """The producer whose request raised the epoch (KIP-360, KIP-890), which it may repeat."""
        self.timeout_ms = 0
        self.start_ms = -1
        self.deadline_ms: int | None = None
        self.state = EMPTY
        self.partitions: set[Partition] = set()
        self.groups: set[str] = set()
        self.offsets: dict[tuple[str, str], StoredOffset] = {}

    def check(self, producer: Producer) -> None:
        """Check that a producer owns the id and may go on.

        Raises:
            ApiError: it does not, or a transaction is just ending.
        """
        if producer.producer_id != self.producer.producer_id:
            raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if producer.epoch != self.producer.epoch:
            raise ApiError(ErrorCode.PRODUCER_FENCED)
        if self.state in (PREPARE_COMMIT, PREPARE_ABORT):
            raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)

    def begin(self, now_ms: int) -> None:
        """Begin a transaction where none is open."""
        if self.state != ONGOING:
            self.state = ONGOING
            self.start_ms = now_ms
            self.deadline_ms = now_ms + self.timeout_ms

    def prepare(self, producer: Producer, *, commits: bool) -> Ending:
        """Begin the end of the open transaction; markers have the producer's epoch."""
        self.state = PREPARE_COMMIT if commits else PREPARE_ABORT
        self.deadline_ms = None
        self.producer = producer
        offsets = tuple(self.offsets.values()) if commits else ()
        return Ending(self, producer, commits, tuple(sorted(self.partitions)), offsets)

    def reopen(self, now_ms: int) -> None:
        """Go back to before ``prepare``: the end could not be stored, and its producer retries."""
        self.begin(now_ms)
        self.producer = self.last or self.producer

    def complete(self) -> None:
        """End the transaction: everything is written."""
        self.state = COMPLETE_COMMIT if self.state == PREPARE_COMMIT else COMPLETE_ABORT
        self.partitions.clear()
        self.groups.clear()
        self.offsets.clear()


class Transactions:
    """All transactional ids of a server."""

    def __init__(self, new_producer_id: Callable[[], int]) -> None:
        self._new_producer_id = new_producer_id
        self._by_id: dict[str, Transaction] = {}
        """Those that were used last at the end."""
        self._staged = 0
        """The size of all staged offsets, or more: it is computed anew at the limit."""

    def find(self, transactional_id: str) -> Transaction:
        """Return the transactions of an id.

        Raises:
            ApiError: no producer has initialized it, or the id is empty.
        """
        if not transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST)
        found = self._by_id.pop(transactional_id, None)
        if found is None:
            raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        self._by_id[transactional_id] = found
        return found

    def init(
        self, transactional_id: str, timeout_ms: int, present: Producer | None
    ) -> Producer | Ending:
        """Give the id to a producer, with the next epoch; or end an open transaction first.

        ``present`` is the result of an earlier call (KIP-360). After an ``Ending`` the
        producer must ask again.

        Raises:
            ApiError: another producer owns the id, or a transaction is just ending.
        """
        found = self._by_id.get(transactional_id)
        if found is None:
            self._make_room()
            found = Transaction(transactional_id, self._new_producer_id())
            self._by_id[transactional_id] = found
            present = None
        is_repeated = present is not None and present == found.last
        if present not in (None, found.producer) and not is_repeated:
            raise ApiError(ErrorCode.PRODUCER_FENCED)
        if found.state in (PREPARE_COMMIT, PREPARE_ABORT):
            raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
        if found.state == ONGOING:
            return found.prepare(self._next(found.producer), commits=False)
        if not is_repeated:
            found.producer = self._next(found.producer)
            found.last = present
        found.state = EMPTY
        found.start_ms = -1
        found.timeout_ms = timeout_ms
        return found.producer

    def _make_room(self) -> None:
        """Forget an id that was not used for longest, and has no open transaction, at the limit."""
        if len(self._by_id) < IDS_MAX:
            return
        open_ = (ONGOING, PREPARE_COMMIT, PREPARE_ABORT)
        oldest = next((key for key, each in self._by_id.items() if each.state not in open_), None)
        if oldest is None:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        del self._by_id[oldest]

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Iterable[Partition],
        now_ms: int,
    ) -> None:
        """Make partitions part of the transaction.

        Raises:
            ApiError: see ``Transaction.check``.
        """
        found = self.find(transactional_id)
        found.check(producer)
        found.begin(now_ms)
        found.partitions.update(partitions)

    def add_group(
        self, transactional_id: str, producer: Producer, group_id: str, now_ms: int
    ) -> None:
        """Make the offsets of a group part of the transaction.

        Raises:
            ApiError: see ``Transaction.check``.
        """
        found = self.find(transactional_id)
        found.check(producer)
        found.begin(now_ms)
        found.groups.add(group_id)

    def check_partition(
        self, transactional_id: str, producer: Producer, partition: Partition
    ) -> None:
        """Check that a partition is part of the open transaction.

        Raises:
            ApiError: it is not, or see ``Transaction.check``.
        """
        found = self.find(transactional_id)
        found.check(producer)
        if found.state != ONGOING or partition not in found.partitions:
            raise ApiError(ErrorCode.INVALID_TXN_STATE)

    def stage_offsets(
        self,
        transactional_id: str,
        producer: Producer,
        group_id: str,
        rows: Sequence[StoredOffset],
        committed: Offsets,
    ) -> None:
        """Keep offsets that are committed with the transaction.

        Raises:
            ApiError: the group is not part of it, there are too many, or see ``Transaction.check``.
        """
        found = self.find(transactional_id)
        found.check(producer)
        if found.state != ONGOING or group_id not in found.groups:
            raise ApiError(ErrorCode.INVALID_TXN_STATE)
        staged = {(group_id, row.partition): row for row in rows}
        size = sum(map(size_of, staged.values()))
        size -= sum(size_of(found.offsets[place]) for place in staged.keys() & found.offsets.keys())
        if committed.size + self._staged + size > SIZE_MAX:
            self._staged = sum(
                size_of(row) for each in self._by_id.values() for row in each.offsets.values()
            )
        is_new = not committed.of_group(group_id)
        if committed.size + self._staged + size > SIZE_MAX or (
            is_new and len(committed.groups()) + len(found.groups) > GROUPS_MAX
        ):
            raise ApiError(ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
        self._staged += size
        found.offsets.update(staged)

    def described(self) -> Mapping[str, DescribedTransaction]:
        """Return the last transaction of each id, for those that list and describe them."""
        return {
            name: DescribedTransaction(
                *each.producer, each.state, each.timeout_ms, each.start_ms, tuple(each.partitions)
            )
            for name, each in self._by_id.items()
        }

    def pending(self) -> frozenset[tuple[str, str]]:
        """Return the groups and partitions of which an open transaction has an offset."""
        return frozenset(place for each in self._by_id.values() for place in each.offsets)

    def end(
        self, transactional_id: str, producer: Producer, *, commits: bool, raises_epoch: bool
    ) -> Ending | Producer:
        """Begin the end of a transaction; or return the producer if it has ended before.

        ``raises_epoch`` is true of clients that take another epoch with the answer (KIP-890).

        Raises:
            ApiError: there is nothing to end, or see ``Transaction.check``.
        """
        found = self.find(transactional_id)
        done = COMPLETE_COMMIT if commits else COMPLETE_ABORT
        if raises_epoch and found.last == producer and found.state == done:
            return found.producer
        found.check(producer)
        if found.state == ONGOING:
            found.last = producer if raises_epoch else None
            after = self._next(producer) if raises_epoch else producer
            return found.prepare(after, commits=commits)
        if raises_epoch and not commits:
            # The producer does not know whether a partition has become part of it.
            found.last = producer
            return found.prepare(self._next(producer), commits=False)
        if found.state == done and not raises_epoch:
            return producer
        raise ApiError(ErrorCode.INVALID_TXN_STATE)

    def expire(self, now_ms: int) -> list[Ending]:
        """Abort the transactions whose time is over; their producers are fenced."""
        return [
            each.prepare(self._next(each.producer), commits=False)
            for each in self._by_id.values()
            if each.deadline_ms is not None and each.deadline_ms <= now_ms
        ]

    @property
    def next_deadline_ms(self) -> int | None:
        """Return when ``expire`` has something to do."""
        times = (each.deadline_ms for each in self._by_id.values())
        return min((each for each in times if each is not None), default=None)

    def _next(self, producer: Producer) -> Producer:
        if producer.epoch >= EPOCH_MAX:
            return Producer(self._new_producer_id(), 0)
        return producer._replace(epoch=producer.epoch + 1)
