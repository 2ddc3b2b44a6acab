"""A line on a terminal that tells how far something is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO


def progress_on(stream: TextIO, verb: str) -> Callable[[int, int], None] | None:
    """Return a function that takes what is done and all there is; None where nobody watches."""
    if not stream.isatty():
        return None
    shown = -1

    def show(done: int, whole: int) -> None:
        nonlocal shown
        percent = 100 if whole <= 0 else done * 100 // whole
        if percent != shown:
            shown = percent
            end = "\n" if done >= whole else ""
            print(f"\r{verb}: {percent:3d} %", end=end, file=stream, flush=True)

    return show


def progress(verb: str) -> Callable[[int, int], None] | None:
    """Return ``progress_on`` stderr."""
    return progress_on(sys.stderr, verb)
