"""The one process that forks the servers of this test: ``fork_server``, from the test's side."""

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
from doorkeeper.testing.forked import Forked
from doorkeeper.testing.pickling import dumps

if TYPE_CHECKING:
    from doorkeeper.testing.fork_server import Wanted

T = TypeVar("T", socket.socket, IO[bytes])

_FORK_S: Final = 60.0
_END_S: Final = 5.0
_DEATH_S: Final = 0.5
"""How long a process may still be there that has closed its socket, because it ends."""


class Forking:
    """Starts the process that forks when it is first needed, and again where it was killed."""

    def __init__(self, fork_s: float = _FORK_S) -> None:
        """Begin without one; ``fork_s`` is how long a server may take to be forked."""
        self._fork_s = fork_s
        self._lock = threading.Lock()
        self._running: _Running | None = None

    @property
    def pid(self) -> int | None:
        """Return the id of the process that forks, if there is one."""
        return None if self._running is None else self._running.process.pid

    def prepare(self) -> None:
        """Begin to start it: whoever needs a server soon waits less for it."""
        with self._lock:
            self._started()

    def wait(self) -> None:
        """Wait until it can fork; where that cannot be, whoever wants a server is told."""
        with self._lock:
            self._started().wait(self._fork_s)

    def fork(self, wanted: Wanted, needs: Needs = Needs.NOTHING) -> Forked:
        """Fork a server.

        Raises:
            ConnectionError: there is nobody to fork it; why is on stderr.
            TimeoutError: there is, and does not answer.

        """
        with self._lock:
            running = self._started()
            try:
                return running.fork(wanted, needs, self._fork_s)
            except ConnectionError:
                if not running.has_ended():
                    raise
                # It was killed since, by somebody who looked for processes to kill.
                self._close()
                return self._started().fork(wanted, needs, self._fork_s)

    def close(self) -> None:
        """Let it end, and its servers with it."""
        with self._lock:
            self._close()

    def forget(self) -> None:
        """Begin without one, in a fork of the test: the test's goes on."""
        # Another thread of the test may have had the lock, and is not there to give it back.
        self._lock = threading.Lock()
        if self._running is not None:
            self._running.forget()
        self._running = None

    def _started(self) -> _Running:
        if self._running is None:
            self._running = _Running()
        return self._running

    def _close(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.close()


class _Running:
    """A process that forks."""

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

    def fork(self, wanted: Wanted, needs: Needs, fork_s: float) -> Forked:
        message = dumps(wanted)
        self._has_forked = True
        with ExitStack() as ours, ExitStack() as theirs:
            pairs = [_passed(socket.socketpair(), ours, theirs) for _ in range(2)]
            pipes = [_passed(_pipe(), ours, theirs) for _ in range(2)]
            (about, its_about), (control, its_control) = pairs
            (stdout, its_stdout), (stderr, its_stderr) = pipes
            passed = (its_stdout, its_stderr, its_about, its_control)
            socket.send_fds(self._ask, [bytes([needs])], [each.fileno() for each in passed])
            theirs.close()
            about.settimeout(fork_s)
            with suppress(ConnectionError):  # if it was forked, it says why it did not read
                about.sendall(message)
            forked = Forked(about, control, stdout, stderr)
            ours.pop_all()
        return forked

    def has_ended(self) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_DEATH_S)
        return self.process.returncode is not None

    def close(self) -> None:
        if not self._has_forked:
            # It may still import, and has nothing to put in order.
            self.process.kill()
        # A fork of the test that Python knows nothing of may have this socket too.
        with suppress(OSError):
            self._ask.shutdown(socket.SHUT_RDWR)
        self._ask.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_S)

    def forget(self) -> None:
        self._ask.close()
        # Nobody can wait for another's child, and Python would tell of it.
        self.process.returncode = 0


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    reading, writing = os.pipe()
    return os.fdopen(reading, "rb"), os.fdopen(writing, "wb")


def _passed(ends: tuple[T, T], ours: ExitStack, theirs: ExitStack) -> tuple[T, T]:
    """Have both ends closed, the second as soon as it is passed on."""
    ours.enter_context(ends[0])
    theirs.enter_context(ends[1])
    return ends


def environment() -> dict[str, str]:
    """Return an environment in which a process finds the modules that this one finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


FORKING: Final = Forking()
"""This process's own."""

atexit.register(FORKING.close)
os.register_at_fork(after_in_child=FORKING.forget)
