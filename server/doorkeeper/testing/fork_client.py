"""The client of ``fork_server``: one fork server for each test process."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from typing import IO, TYPE_CHECKING, Final, TypeVar

from doorkeeper.testing.fork_server import READY, Needs
from doorkeeper.testing.forked_process import ForkedProcess
from doorkeeper.testing.pickling import dumps

if TYPE_CHECKING:
    from doorkeeper.testing.fork_server import ServeRequest

T = TypeVar("T", socket.socket, IO[bytes])

_FORK_S: Final = 60.0
_END_S: Final = 5.0
_DEATH_S: Final = 0.5
"""The time for a process that has closed its socket to end."""


class ForkClient:
    """Starts the fork server on first use, and again if it was killed."""

    def __init__(self, fork_s: float = _FORK_S) -> None:
        """Create it without a process; ``fork_s`` is the timeout for forking a server."""
        self._fork_s = fork_s
        self._lock = threading.Lock()
        self._running: _ForkServerProcess | None = None

    @property
    def pid(self) -> int | None:
        """Return the id of the fork server, or None."""
        return None if self._running is None else self._running.process.pid

    def prepare(self) -> None:
        """Start the fork server in the background."""
        with self._lock:
            self._ensure_started()

    def wait(self) -> None:
        """Wait until the fork server is ready; errors are reported by ``fork``."""
        with self._lock:
            self._ensure_started().wait(self._fork_s)

    def fork(self, request: ServeRequest, needs: Needs = Needs.NOTHING) -> ForkedProcess:
        """Fork a server.

        Raises:
            ConnectionError: the fork server failed; the cause is on stderr.
            TimeoutError: it does not respond.
        """
        with self._lock:
            running = self._ensure_started()
            try:
                return running.fork(request, needs, self._fork_s)
            except ConnectionError:
                if not running.has_ended():
                    raise
                # It was killed in the meantime, for example by pkill.
                self._close()
                return self._ensure_started().fork(request, needs, self._fork_s)

    def close(self) -> None:
        """End the fork server and its servers."""
        with self._lock:
            self._close()

    def forget(self) -> None:
        """Drop the fork server in a fork of the test's process, to which it does not belong."""
        # Another thread of the parent may have held the lock; it does not exist here.
        self._lock = threading.Lock()
        if self._running is not None:
            self._running.forget()
        self._running = None

    def _ensure_started(self) -> _ForkServerProcess:
        if self._running is None:
            self._running = _ForkServerProcess()
        return self._running

    def _close(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.close()


class _ForkServerProcess:
    """The process of the fork server."""

    def __init__(self) -> None:
        self._is_ready = False
        self._has_forked = False
        self._ask, asked = socket.socketpair()
        with asked:
            self.process = subprocess.Popen(  # noqa: S603  ourselves
                [sys.executable, "-P", "-m", "doorkeeper.testing.fork_server", str(asked.fileno())],
                env=environment(),
                pass_fds=[asked.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def wait(self, timeout_s: float) -> None:
        if self._is_ready:
            return
        self._ask.settimeout(timeout_s)
        with suppress(OSError):
            self._is_ready = self._ask.recv(1) == READY
        self._ask.settimeout(None)

    def fork(self, request: ServeRequest, needs: Needs, fork_s: float) -> ForkedProcess:
        message = dumps(request)
        self._has_forked = True
        with ExitStack() as ours, ExitStack() as theirs:
            pairs = [_register_ends(socket.socketpair(), ours, theirs) for _ in range(2)]
            pipes = [_register_ends(_pipe(), ours, theirs) for _ in range(2)]
            (about, its_about), (control, its_control) = pairs
            (stdout, its_stdout), (stderr, its_stderr) = pipes
            # In the order in which the fork server unpacks them.
            passed = (its_stdout, its_stderr, its_about, its_control)
            # The descriptors travel with this single byte; the request itself follows on ``about``.
            socket.send_fds(self._ask, [bytes([needs])], [each.fileno() for each in passed])
            # Before anything is read: the end of a stream is seen only when no process holds the
            # other end.
            theirs.close()
            about.settimeout(fork_s)
            with suppress(ConnectionError):  # a forked process reports the cause
                about.sendall(message)
            forked = ForkedProcess(about, control, stdout, stderr)
            # From here on they belong to the ``ForkedProcess``.
            ours.pop_all()
        return forked

    def has_ended(self) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_DEATH_S)
        return self.process.returncode is not None

    def close(self) -> None:
        if not self._has_forked:
            # It may still import, and there is nothing to clean up.
            self.process.kill()
        # A fork made by a C library may hold this socket too; closing it would not be enough.
        with suppress(OSError):
            self._ask.shutdown(socket.SHUT_RDWR)
        self._ask.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_S)

    def forget(self) -> None:
        self._ask.close()
        # It is no child of this process; without a status Popen would warn.
        self.process.returncode = 0


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    reading, writing = os.pipe()
    return os.fdopen(reading, "rb"), os.fdopen(writing, "wb")


def _register_ends(ends: tuple[T, T], ours: ExitStack, theirs: ExitStack) -> tuple[T, T]:
    """Register both ends for closing, the second after it has been passed on."""
    ours.enter_context(ends[0])
    theirs.enter_context(ends[1])
    return ends


def environment() -> dict[str, str]:
    """Return an environment in which a process finds the modules of this one."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


FORK_CLIENT: Final = ForkClient()
"""The fork server of this process."""

# A killed test process runs no exit handlers: then the fork server sees its socket closed.
atexit.register(FORK_CLIENT.close)
os.register_at_fork(after_in_child=FORK_CLIENT.forget)
