"""Bytes that connections hold, counted over all of them."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Ledger(Generic[T]):
    """How much each holder holds, the sum, and whether that is too much."""

    __slots__ = ("_held", "bytes_max", "total")

    def __init__(self, bytes_max: int) -> None:
        """Begin with nothing held."""
        self.bytes_max = bytes_max
        self.total = 0
        self._held: dict[T, int] = {}

    def hold(self, holder: T, size: int) -> bool:
        """Note how much a holder holds now; return whether all of them hold too much."""
        before = self._held.pop(holder, 0)
        if size:
            self._held[holder] = size
        self.total += size - before
        return self.total > self.bytes_max

    def held_by(self, holder: T) -> int:
        """Return how much a holder holds."""
        return self._held.get(holder, 0)

    def largest(self) -> T:
        """Return the holder of most. Looks at all holders: O(n)."""
        return max(self._held, key=self._held.__getitem__)
