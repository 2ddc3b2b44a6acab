"""Long work on the event loop: at most a millisecond of it in each turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from doorkeeper.base.slices import SLICE_S, Slices

T = TypeVar("T")


async def run_in_turns(slices: Slices[T], clock: Callable[[], float] = time.perf_counter) -> T:
    """Run all slices, and return their result; a cancellation stops between two of them.

    Exceptions of a slice propagate. ``clock`` needs a resolution of microseconds.
    """
    try:
        while True:
            ends_s = clock() + SLICE_S
            while clock() < ends_s:
                next(slices)
            await asyncio.sleep(0)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        slices.close()
