"""A process forked by ``fork_server``, on the test's side."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import socket


class ForkedProcess:
    """A forked process."""

    def __init__(
        self,
        about: socket.socket,
        control: socket.socket,
        stdout: IO[bytes],
        stderr: IO[bytes],
    ) -> None:
        """Read the process id from ``about``, whose timeout applies.

        Raises:
            ConnectionError: the fork failed.
            TimeoutError: no process id in time.
        """
        self._owner = os.getpid()
        self._about = about
        self._status: int | None = None
        self.control = control
        self.stdout = stdout
        self.stderr = stderr
        number = self._read_number()
        if number is None:
            raise ConnectionResetError("nobody has forked it")
        self.pid = number

    @property
    def is_ours(self) -> bool:
        """Return whether this process started it, and not a parent that forked this one."""
        return os.getpid() == self._owner

    def wait(self, timeout_s: float | None = None) -> int:
        """Return the exit status once it has ended, negative for a signal.

        Raises:
            TimeoutError: it has not ended.
        """
        if self._status is None:
            self._about.settimeout(timeout_s)
            status = self._read_number()
            if status is None:
                # The fork server was killed and cannot report the status.
                with suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
                status = -signal.SIGKILL
            self._status = status
            self.close()
        return self._status

    def close(self) -> None:
        """Close the sockets. ``wait`` does it too."""
        self._about.close()
        self.control.close()

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        try:
            # The system may reuse the id of an ended process.
            self.wait(0)
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _read_number(self) -> int | None:
        """Return the number in the next line; None at the end of the stream."""
        line = b""
        try:
            while not line.endswith(b"\n"):
                # One byte at a time: the next line belongs to a later call.
                byte = self._about.recv(1)
                if not byte:
                    return None
                line += byte
        except BlockingIOError:  # raised with a timeout of 0
            raise TimeoutError from None
        except ConnectionError:  # it ended with unread input
            return None
        return int(line)
