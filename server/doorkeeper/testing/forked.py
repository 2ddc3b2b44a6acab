"""A process that ``fork_server`` has forked, as the test sees it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import socket


class Forked:
    """A forked process."""

    def __init__(
        self,
        about: socket.socket,
        control: socket.socket,
        stdout: IO[bytes],
        stderr: IO[bytes],
    ) -> None:
        """Take the socket that tells of it, the one that it obeys, and what it writes.

        Raises:
            ConnectionError: nobody has forked it.
            TimeoutError: nobody has in the time that the first socket has.

        """
        self._owner = os.getpid()
        self._about = about
        self._status: int | None = None
        self.control = control
        self.stdout = stdout
        self.stderr = stderr
        number = self._told()
        if number is None:
            raise ConnectionResetError("nobody has forked it")
        self.pid = number

    @property
    def is_ours(self) -> bool:
        """Say whether this process asked for it, and not one that this one was forked from."""
        return os.getpid() == self._owner

    def wait(self, timeout_s: float | None = None) -> int:
        """Return its status when it has ended, negative where a signal ended it.

        Raises:
            TimeoutError: it has not ended.

        """
        if self._status is None:
            self._about.settimeout(timeout_s)
            status = self._told()
            if status is None:
                # Who forked it was killed, and cannot tell any more.
                with suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
                status = -signal.SIGKILL
            self._status = status
            self.close()
        return self._status

    def close(self) -> None:
        """Hear no more of it. ``wait`` does it too."""
        self._about.close()
        self.control.close()

    def terminate(self) -> None:
        """Tell it to end (SIGTERM)."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once (SIGKILL)."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        try:
            # When it has ended, its id may soon be another's.
            self.wait(0)
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _told(self) -> int | None:
        """Return the number in the next line; None where there is nobody to tell it."""
        line = b""
        try:
            while not line.endswith(b"\n"):
                byte = self._about.recv(1)
                if not byte:
                    return None
                line += byte
        except BlockingIOError:  # what a time of 0 raises
            raise TimeoutError from None
        except ConnectionError:  # it ended, and left unread what it was sent
            return None
        return int(line)
