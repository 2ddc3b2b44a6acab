"""Programs at a terminal: what is typed there, and what it shows."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

WAIT_S: Final = 60.0
TAB: Final = b"\t"
CTRL_C: Final = b"\x03"


class Terminal:
    """A terminal with one program, which is its session's leader."""

    def __init__(self, pid: int, descriptor: int) -> None:
        """Take the program's process and the other side of its terminal."""
        self.shown = b""
        self._pid, self._descriptor = pid, descriptor
        self._status: int | None = None

    def type(self, keys: bytes) -> None:
        """Type keys."""
        os.write(self._descriptor, keys)

    def interrupt(self) -> None:
        """Type Ctrl-C where the program waits for something.

        Python hears of a signal that comes just before it begins to wait when it has waited.
        """
        stat = Path(f"/proc/{self._pid}/stat")
        deadline_s = time.monotonic() + scaled(WAIT_S)
        while stat.read_text(encoding="latin-1").rpartition(")")[2].split()[0] != "S":
            assert time.monotonic() < deadline_s, f"it does not wait; it has shown {self.shown!r}"
            time.sleep(0.01)
        self.type(CTRL_C)

    def read_until(self, wanted: bytes) -> None:
        """Read what is shown from now on until this is in it."""
        deadline_s = time.monotonic() + scaled(WAIT_S)
        start = len(self.shown)
        while wanted not in self.shown[start:]:
            left_s = deadline_s - time.monotonic()
            assert left_s > 0, f"found {self.shown[start:]!r}; expected {wanted!r}"
            if select.select([self._descriptor], [], [], left_s)[0]:
                self.shown += os.read(self._descriptor, 4096)

    def status(self) -> int:
        """Read what is still shown, wait for the program, and return its status."""
        try:
            while select.select([self._descriptor], [], [], WAIT_S)[0]:
                self.shown += os.read(self._descriptor, 4096)
        except OSError:
            pass  # which is how a terminal ends
        else:
            raise AssertionError(f"it goes on; it has shown {self.shown!r}")
        _, status = os.waitpid(self._pid, 0)
        self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def close(self) -> None:
        """Close the terminal, which ends a program that goes on."""
        os.close(self._descriptor)
        if self._status is None:
            os.waitpid(self._pid, 0)


@contextmanager
def at_terminal(
    words: Sequence[str], environment: Mapping[str, str], folder: Path
) -> Iterator[Terminal]:
    """Run a program in a folder, at a terminal of its own."""
    pid, descriptor = pty.fork()
    if not pid:
        try:
            # What ignores a signal has children that ignore it.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.chdir(folder)
            os.execve(words[0], list(words), environment)
        finally:
            os._exit(127)
    terminal = Terminal(pid, descriptor)
    try:
        yield terminal
    finally:
        terminal.close()
