"""The records of partitions and the transactions of producers, as handlers see them.

This server has none: every log is empty. The test broker passes its own ``LogOf`` and
``Transactions`` to the handlers whose answers depend on them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from msgspec import Struct

from doorkeeper.server.schema.declared import StoredTopic


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


class Log:
    """The log of one partition: an empty one, unless the test broker overrides it."""

    start_offset: int = 0
    end_offset: int = 0
    """The offset of the next record; it is the high watermark too."""

    @property
    def stable_offset(self) -> int:
        """Return the first offset that may belong to an open transaction, else the end."""
        return self.end_offset

    @property
    def size(self) -> int:
        """Return the bytes of the batches that are kept."""
        return 0

    def find_time(self, timestamp: int) -> TimedOffset | None:
        """Return the first record of this time or a later one."""
        return None

    def find_largest_time(self) -> TimedOffset | None:
        """Return the first record of the largest time."""
        return None

    def delete_before(self, offset: int) -> None:
        """Delete the records before an offset, which is at most the end."""


LogOf = Callable[[StoredTopic, int], Log]
"""Returns the log of a partition that exists."""


_EMPTY: Final = Log()


def empty_log(_topic: StoredTopic, _partition: int) -> Log:
    """Return the log of a server without a data path."""
    return _EMPTY
