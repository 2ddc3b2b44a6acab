"""Long work in the turns of the loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.slices import SLICE_S, run_in_turns

if TYPE_CHECKING:
    from doorkeeper.base.slices import Slices


class Work:
    """Slices, each of which takes a quarter of a turn on a clock of its own."""

    def __init__(self, count: int) -> None:
        self.now_s = 0.0
        self.done = 0
        self.is_closed = False
        self._count = count

    def pieces(self) -> Slices[str]:
        try:
            for _ in range(self._count):
                self.now_s += SLICE_S / 4
                self.done += 1
                yield
        finally:
            self.is_closed = True
        return "all of it"


async def test_slices_yield_to_other_tasks() -> None:
    work = Work(20)
    seen: list[int] = []

    async def others() -> None:
        while not work.is_closed:
            seen.append(work.done)
            await asyncio.sleep(0)

    beside = asyncio.ensure_future(others())
    result = await run_in_turns(work.pieces(), lambda: work.now_s)
    await beside

    assert result == "all of it"
    assert seen == [4, 8, 12, 16, 20]


async def test_cancelled_work_is_closed() -> None:
    work = Work(20)
    doing = asyncio.ensure_future(run_in_turns(work.pieces(), lambda: work.now_s))
    await asyncio.sleep(0)
    doing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await doing

    assert (work.done, work.is_closed) == (4, True)
