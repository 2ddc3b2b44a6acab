"""Progress on stderr, for whatever takes longer than two seconds.

One line is written anew each second, and goes away at the end::

    reading acls.yaml: 12 s
    applying: 45 %, 12 s

Nothing is written where stderr is not a terminal, as by git and pip: a log has results and faults.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from doorkeeper.cli.terminal import collected_output, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AFTER_S: Final = 2.0
EVERY_S: Final = 1.0

_TEXT_MAX: Final = 70
"""A longer line would wrap on narrow terminals, and could not be written anew."""


class Progress:
    """What a command does at the moment; any thread may tell. A thread of its own writes."""

    def __init__(self, text: str, stream: TextIO, *, is_shown: bool) -> None:
        """``is_shown`` False: nothing is ever written."""
        self._text, self._stream = text, stream
        self._numbers: tuple[int, int] | None = None
        self._begin = time.monotonic()
        self._width = 0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        if is_shown:
            self._thread = threading.Thread(
                target=self._write, name="doorkeeper-progress", daemon=True
            )
            self._thread.start()

    def tell(self, text: str) -> None:
        """Begin another stage."""
        self._text, self._numbers = text, None

    def count(self, done: int, total: int) -> None:
        """Note that a part is done; costs nothing, so that each item may count."""
        self._numbers = done, total

    def counter(self, text: str) -> Callable[[int, int], None]:
        """Begin another stage; return what counts in it."""
        self.tell(text)
        return self.count

    def close(self) -> None:
        """Remove the line; idempotent."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            self._show("")

    def line(self) -> str:
        """Return the stage, how much of it is done, and the seconds since the begin."""
        done = ""
        if self._numbers is not None:
            part, whole = self._numbers
            done = f"{100 if whole <= 0 else part * 100 // whole} %, "
        text = printable(self._text)
        if len(text) > _TEXT_MAX:
            text = f"{text[: _TEXT_MAX - 3]}..."
        return f"{text}: {done}{time.monotonic() - self._begin:.0f} s"

    def _write(self) -> None:
        wait_s = AFTER_S
        while not self._ended.wait(wait_s):
            self._show(self.line())
            wait_s = EVERY_S

    def _show(self, line: str) -> None:
        if not line and not self._width:
            return
        # With blanks: not every terminal has a code that erases a line. The cursor is at its begin,
        # so that a message overwrites it.
        self._stream.write(f"\r{line:{self._width}}\r")
        self._stream.flush()
        self._width = len(line)


@contextmanager
def progress(text: str, *, quiet: bool = False, stream: TextIO | None = None) -> Iterator[Progress]:
    """Report what the block does, where stderr is a terminal; it writes nothing itself there."""
    stream = sys.stderr if stream is None else stream
    is_shown = not quiet and collected_output() is None and stream.isatty()
    reported = Progress(text, stream, is_shown=is_shown)
    try:
        yield reported
    finally:
        reported.close()
