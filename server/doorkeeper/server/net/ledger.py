"""Bytes held for connections, counted for all of them together."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Ledger(Generic[T]):
    """The bytes of each holder, and their sum."""

    __slots__ = ("_held", "bytes_max", "total")

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.total = 0
        self._held: dict[T, int] = {}

    def hold(self, holder: T, size: int) -> bool:
        """Set the bytes of a holder; return whether the sum exceeds the limit."""
        # Holders of nothing have no entry: idle connections cost no memory here.
        before = self._held.pop(holder, 0)
        if size:
            self._held[holder] = size
        self.total += size - before
        return self.total > self.bytes_max

    def bytes_of(self, holder: T) -> int:
        return self._held.get(holder, 0)

    def largest(self) -> T:
        """Return the holder of most bytes. O(n) in the number of holders."""
        return max(self._held, key=self._held.__getitem__)
