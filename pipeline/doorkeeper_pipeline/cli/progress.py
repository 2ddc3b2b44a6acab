"""Progress that a person can follow: a line on stderr for each stage, with the seconds so far."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO

from doorkeeper_pipeline.cli.failures import printable

EVERY_S = 0.5
"""A line that only differs in its numbers from the last comes no more often than this."""


class Progress:
    """Prints the current step."""

    def __init__(
        self, clock: Callable[[], float], *, quiet: bool = False, to: TextIO | None = None
    ) -> None:
        """Begin to count; ``clock`` gives seconds."""
        self._clock = clock
        self._begin = clock()
        self._quiet = quiet
        self._to = to or sys.stderr
        self._last: tuple[str, float] = ("", 0.0)

    def __call__(self, text: str) -> None:
        """Tell a stage."""
        now = self._clock()
        kind = text.rstrip("0123456789").translate(_NO_DIGITS)
        last_kind, last_time = self._last
        counts = text.partition(" of ")
        is_end = counts[0].split(" ")[-1] == counts[2].split(" ")[0]
        if self._quiet or (kind == last_kind and now - last_time < EVERY_S and not is_end):
            return
        self._last = (kind, now)
        self._to.write(f"[{now - self._begin:7.1f} s] {printable(text)}\n")
        self._to.flush()


_NO_DIGITS = {ord(digit): None for digit in "0123456789"}
