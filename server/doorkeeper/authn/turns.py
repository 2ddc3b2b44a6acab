"""A bounded number of things at once, and who goes next when there are more.

Those that wait stand in one row for each key (a client's address), and the rows take turns: an
address that sends a thousand wrong passwords waits for itself, and one that sends a single right
one is next.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable


class Turns:
    """``limit`` things at once. For the loop's thread."""

    __slots__ = ("_free", "_rows", "waiting")

    def __init__(self, limit: int) -> None:
        """Begin with nobody inside. ``waiting`` counts those outside."""
        self._free = limit
        self._rows: dict[Hashable, deque[asyncio.Future[None]]] = {}
        self.waiting = 0

    @asynccontextmanager
    async def turn(self, key: Hashable) -> AsyncIterator[None]:
        """Wait for a turn; it is over with the block."""
        await self.begin(key)
        try:
            yield
        finally:
            self.end()

    async def begin(self, key: Hashable) -> None:
        """Wait for a turn. Who is cancelled meanwhile has none."""
        if self._free:
            self._free -= 1
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._rows.setdefault(key, deque()).append(mine)
        self.waiting += 1
        try:
            await mine
        except asyncio.CancelledError:
            if mine.cancelled():
                self._leave(key, mine)
            else:
                # The turn was given at the very moment of giving up.
                self.end()
            raise
        finally:
            self.waiting -= 1

    def _leave(self, key: Hashable, mine: asyncio.Future[None]) -> None:
        row = self._rows.get(key, deque())
        if mine in row:
            row.remove(mine)
        if not row:
            self._rows.pop(key, None)

    def end(self) -> None:
        """Give the turn to the next row."""
        while self._rows:
            key, row = next(iter(self._rows.items()))
            del self._rows[key]
            following = self._first(row)
            if row:
                self._rows[key] = row
            if following is not None:
                following.set_result(None)
                return
        self._free += 1

    @staticmethod
    def _first(row: deque[asyncio.Future[None]]) -> asyncio.Future[None] | None:
        """Take the first of a row that still waits."""
        while row:
            first = row.popleft()
            if not first.done():
                return first
        return None
