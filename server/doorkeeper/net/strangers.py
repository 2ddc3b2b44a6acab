"""Turns of those who have not logged in: a little at a time, behind those who have.

A client that has logged in is answered as its bytes arrive. What a stranger causes (its
connection is made, a frame of its login is taken, a refusal is sent) waits here in one row for
each address. The rows take turns, one piece of work a turn of the loop, so that the loop looks at
the clients' bytes before each. While clients are at work, strangers together get a share of the
loop's time and no more; the rest of their work waits a little, which they do not notice: who
guesses passwords gets fewer guesses, and who logs in waits for milliseconds.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

QUIET_S: Final = 0.1
"""Clients that have been silent for so long are not at work."""

REST_S: Final = 0.001
"""The event loop's timers are no finer."""

CREDIT_S: Final = 0.002
"""Time unused is made up for to this extent: a timer of a millisecond may come after two."""


class Turn:
    """A piece of work that waits."""

    __slots__ = ("_work",)

    def __init__(self, work: Callable[[], None]) -> None:
        """Wait."""
        self._work: Callable[[], None] | None = work

    def cancel(self) -> None:
        """Do nothing when the turn comes."""
        self._work = None

    def take(self) -> bool:
        """Do the work; say whether there was any."""
        work, self._work = self._work, None
        if work is None:
            return False
        work()
        return True


class Strangers:
    """All that wait, and the one whose turn is next. For the loop's thread."""

    __slots__ = (
        "_busy_until_s",
        "_clock",
        "_free_s",
        "_loop",
        "_next",
        "_rows",
        "_share",
        "_work_clock",
        "clients_at_work",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        share: float,
        clock: Callable[[], float] = time.perf_counter,
        work_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        """Begin with nobody. ``clock`` tells microseconds apart, which a loop's own may not.

        ``work_clock`` tells what work costs: the processor's time, so that a turn in which other
        programs had the processor does not keep everybody out for ten times as long.
        """
        self._loop = loop
        self._share = share
        self._clock = clock
        self._work_clock = work_clock
        self._rows: dict[str, deque[Turn]] = {}
        self._next: asyncio.Handle | None = None
        self._free_s = self._busy_until_s = clock()
        self.clients_at_work = False
        """Set to True whenever a client that has logged in is answered."""

    @property
    def waiting(self) -> bool:
        """Say whether there is work that waits."""
        return bool(self._rows)

    def wait(self, host: str, work: Callable[[], None]) -> Turn:
        """Let something be done when the turn of an address comes."""
        turn = Turn(work)
        row = self._rows.get(host)
        if row is None:
            self._rows[host] = deque((turn,))
        else:
            row.append(turn)
        if self._next is None:
            self._schedule()
        return turn

    def _schedule(self) -> None:
        now_s = self._clock()
        if self.clients_at_work:
            self.clients_at_work = False
            self._busy_until_s = now_s + QUIET_S
        if self._free_s <= now_s or self._busy_until_s <= now_s:
            self._next = self._loop.call_soon(self._turn)
        else:
            self._next = self._loop.call_later(max(self._free_s - now_s, REST_S), self._turn)

    def _turn(self) -> None:
        began_s, worked_s = self._clock(), self._work_clock()
        try:
            self._take_one()
        finally:
            cost_s = (self._work_clock() - worked_s) / self._share
            self._free_s = max(self._free_s, began_s - CREDIT_S) + cost_s
            self._next = None
            if self._rows:
                self._schedule()

    def _take_one(self) -> None:
        """Do the first work of the first row, and put the row behind the others."""
        while self._rows:
            host, row = next(iter(self._rows.items()))
            del self._rows[host]
            turn = row.popleft()
            if row:
                self._rows[host] = row
            if turn.take():
                return
