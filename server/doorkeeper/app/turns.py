"""Long work on the event loop: a millisecond of it in each turn, so that nobody waits for more.

What must be done by the loop's thread, or would take the interpreter from it, is cut into pieces;
between two turns the loop looks at everybody's bytes.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeVar

from doorkeeper.state.log import SLICE_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.pieces import Pieces

T = TypeVar("T")


async def in_turns(pieces: Pieces[T], clock: Callable[[], float] = time.perf_counter) -> T:
    """Do all pieces, and return what comes of them; cancelled, no more of them is done.

    Raises what a piece raises. ``clock`` tells microseconds apart, which a loop's own may not.
    """
    try:
        while True:
            ends_s = clock() + SLICE_S
            while clock() < ends_s:
                next(pieces)
            await asyncio.sleep(0)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        pieces.close()
