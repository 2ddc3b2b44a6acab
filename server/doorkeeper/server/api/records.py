"""The records of partitions and the transactions of producers, as handlers see them.

This server has none: every log is empty. The test broker passes its own ``LogOf`` and
``Transactions`` to the handlers whose answers depend on them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, Protocol

from msgspec import Struct

from doorkeeper.server.resources.cluster import Topic


class TimedOffset(Struct, frozen=True):
    """The offset of a record, and its time in milliseconds since 1970."""

    offset: int
    timestamp: int


class DescribedTransaction(Struct, frozen=True):
    """The last transaction of a transactional id; ``start_ms`` is -1 before the first."""

    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_ms: int
    partitions: Collection[tuple[str, int]]


Transactions = Callable[[], Mapping[str, DescribedTransaction]]
"""Returns all transactions by transactional id."""


class LogReads(Protocol):
    """The log of one partition."""

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int:
        """Return the offset of the next record; it is the high watermark too."""
        ...

    @property
    def stable_offset(self) -> int:
        """Return the first offset that may belong to an open transaction, else the end."""
        ...

    @property
    def size(self) -> int:
        """Return the bytes of the batches that are kept."""
        ...

    def find_time(self, timestamp: int) -> TimedOffset | None:
        """Return the first record of this time or a later one."""
        ...

    def find_largest_time(self) -> TimedOffset | None:
        """Return the first record of the largest time."""
        ...

    def delete_before(self, offset: int) -> None:
        """Delete the records before an offset, which is at most the end."""
        ...


LogOf = Callable[[Topic, int], LogReads]
"""Returns the log of a partition that exists."""


class _EmptyLog:
    start_offset: Final = 0
    end_offset: Final = 0
    stable_offset: Final = 0
    size: Final = 0

    def find_time(self, timestamp: int) -> None:
        pass

    def find_largest_time(self) -> None:
        pass

    def delete_before(self, offset: int) -> None:
        pass


_EMPTY: Final = _EmptyLog()


def empty_log(_topic: Topic, _partition: int) -> LogReads:
    """Return the log of a server without a data path."""
    return _EMPTY
