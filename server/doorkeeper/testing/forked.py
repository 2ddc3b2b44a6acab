"""Processes that ``fork_server`` forks, as the test sees them."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from typing import IO, TYPE_CHECKING, Final, TypeVar

from doorkeeper.testing.fork_server import ENCRYPTS, IN_CLEAR

if TYPE_CHECKING:
    from doorkeeper.testing.fork_server import Wanted

T = TypeVar("T", socket.socket, IO[bytes])

_FORK_S: Final = 60.0
_END_S: Final = 5.0


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
            ConnectionError: the process that was to fork it has ended.
            TimeoutError: that process is not heard of.

        """
        self._owner = os.getpid()
        self._about = about
        self._status: int | None = None
        self.control = control
        self.stdout = stdout
        self.stderr = stderr
        number = self._told(_FORK_S)
        if number is None:
            raise ConnectionResetError("it has ended")
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
            status = self._told(timeout_s)
            if status is None:
                # Who forked it was killed, and cannot tell any more.
                with suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
                status = -signal.SIGKILL
            self._status = status
            self._about.close()
            self.control.close()
        return self._status

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

    def _told(self, timeout_s: float | None) -> int | None:
        """Return the number in the next line; None where there is nobody to tell it."""
        self._about.settimeout(timeout_s)
        line = b""
        try:
            while not line.endswith(b"\n"):
                byte = self._about.recv(1)
                if not byte:
                    return None
                line += byte
        except BlockingIOError:  # what a time of 0 raises
            raise TimeoutError from None
        return int(line)


class _ForkServer:
    """The process that forks. It is this process's alone: a fork of it has its own."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._ask, asked = socket.socketpair()
        with asked:
            self._process = subprocess.Popen(  # noqa: S603  ourselves
                [sys.executable, "-P", "-m", "doorkeeper.testing.fork_server", str(asked.fileno())],
                env=environment(),
                pass_fds=[asked.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def fork(self, wanted: Wanted, *, encrypts: bool) -> Forked:
        """Fork a server.

        Raises:
            ConnectionError: this process has ended.
            TimeoutError: it is not heard of.

        """
        with ExitStack() as ours, ExitStack() as theirs:
            pairs = [_passed(socket.socketpair(), ours, theirs) for _ in range(2)]
            pipes = [_passed(_pipe(), ours, theirs) for _ in range(2)]
            kind = ENCRYPTS if encrypts else IN_CLEAR
            (about, its_about), (control, its_control) = pairs
            (stdout, its_stdout), (stderr, its_stderr) = pipes
            passed = (its_stdout, its_stderr, its_about, its_control)
            socket.send_fds(self._ask, [kind], [each.fileno() for each in passed])
            theirs.close()
            about.sendall(pickle.dumps(wanted))
            forked = Forked(about, control, stdout, stderr)
            ours.pop_all()
        return forked

    def close(self) -> None:
        """Let it end, and its servers with it."""
        self._ask.close()
        if os.getpid() != self.owner:
            # Nobody can wait for another's child, and Python would tell of it.
            self._process.returncode = 0
            return
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    reading, writing = os.pipe()
    return os.fdopen(reading, "rb"), os.fdopen(writing, "wb")


def _passed(ends: tuple[T, T], ours: ExitStack, theirs: ExitStack) -> tuple[T, T]:
    """Have both ends closed, the second as soon as it is passed on."""
    ours.enter_context(ends[0])
    theirs.enter_context(ends[1])
    return ends


_lock: Final = threading.Lock()
_current: Final[list[_ForkServer]] = []


def prepare() -> None:
    """Begin to start the process that forks: whoever needs a server soon waits less for it."""
    with _lock:
        _started()


def fork(wanted: Wanted, *, encrypts: bool) -> Forked:
    """Fork a server from the process that has imported it; start that one if there is none.

    Raises:
        ConnectionError: there is no such process; why, it has written on stderr.
        TimeoutError: it is not heard of.

    """
    with _lock:
        try:
            return _started().fork(wanted, encrypts=encrypts)
        except ConnectionError:
            # It was killed since, by somebody who looked for processes to kill.
            _close()
            return _started().fork(wanted, encrypts=encrypts)


def environment() -> dict[str, str]:
    """Return an environment in which a process finds the modules that this one finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _started() -> _ForkServer:
    if _current and _current[0].owner != os.getpid():
        _close()
    if not _current:
        _current.append(_ForkServer())
    return _current[0]


@atexit.register
def _close() -> None:
    while _current:
        _current.pop().close()
