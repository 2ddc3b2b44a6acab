"""What only the garbage collector would free: objects that refer to each other in a circle."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def left_in_cycles() -> Iterator[list[type]]:
    """Give a list that has, behind the block, the type of each object it left in a cycle."""
    found: list[type] = []
    # What is older is not looked at: the heap of a worker that has run thousands of tests takes
    # seconds.
    gc.freeze()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found += [type(each) for each in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
