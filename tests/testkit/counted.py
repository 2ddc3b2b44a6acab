"""Work counted in calls: what a test claims about cost holds on any machine, however busy."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


class Calls:
    """How many calls were made, of Python functions and of built-in ones."""

    count = 0

    def __call__(self, _frame: FrameType, event: str, _argument: Any) -> None:
        """Count one, as the interpreter tells of it."""
        if event in ("call", "c_call"):
            self.count += 1


@contextmanager
def counted_calls() -> Iterator[Calls]:
    """Count what this thread calls within the block, its event loop included."""
    calls = Calls()
    before = sys.getprofile()
    sys.setprofile(calls)
    try:
        yield calls
    finally:
        sys.setprofile(before)
