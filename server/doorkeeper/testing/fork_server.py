"""A process that has imported the server, and forks one for each request.

``python -m doorkeeper.testing.fork_server 5``, where 5 is a socket. Imports are nine tenths of a
server's start, and happen here once. The process has one thread, opens no files or sockets of a
server, and runs no event loop, so that a forked process starts like a new one.

The process sends a byte when it is ready. Each request is a byte, the ``Needs``, with four
descriptors: stdout, stderr, and two sockets. From the first socket the forked process reads its
pickled ``ServeRequest``; the fork server writes the process id, and finally the exit status, to it,
a line each. The second socket controls the fault injection. When the request socket is closed, all
servers are terminated, and killed after a timeout.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import socket
import sys
import time
from contextlib import ExitStack, suppress
from enum import IntFlag
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

if TYPE_CHECKING:
    from doorkeeper.testing.configuration import Configuration


class Needs(IntFlag):
    """Additional imports of a server, done when one first needs them."""

    NOTHING = 0
    TLS = 1
    CATALOG = 2


READY: Final = b"r"
"""Sent when the common imports are done."""

_DESCRIPTORS: Final = 4
# The time for servers to end after SIGTERM when the test has gone.
_END_S: Final = 3.0
_IMPORTS: Final = (
    "doorkeeper.testing.serving",
    # What its start imports then:
    "concurrent.futures.thread",
    "doorkeeper.authn.plain",
    "doorkeeper.authn.scram_provider",
    "encodings.idna",
    "encodings.latin_1",
    "uvloop",
)
_IMPORTS_FOR: Final = {
    Needs.TLS: (
        "cryptography.hazmat.primitives.serialization",
        "cryptography.x509",
        "doorkeeper.tls.listener_tls",
    ),
    Needs.CATALOG: ("doorkeeper.catalog.loading",),
}


class ServeRequest(NamedTuple):
    """The configuration of a forked process, and its inheritance from the test's process."""

    keys: dict[str, str]
    """The keys of server.properties."""
    environment: dict[str, str]
    module_path: list[str]
    folder: str
    beginning: Configuration | None
    """The initial content of a new store; None for an existing store."""


class _ServerSockets(NamedTuple):
    """The sockets of one server: for its id and status, and for fault injection."""

    about: socket.socket
    control: socket.socket


def main() -> None:
    """Fork servers; in a forked process, serve."""
    # A terminal sends these to the whole process group; only the test ends its servers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # Imports stay alive, and a collection would write to memory pages shared by all processes.
    gc.disable()
    _import(_IMPORTS)
    asked = socket.socket(fileno=int(sys.argv[1]))
    with suppress(OSError):  # the test may have ended
        asked.sendall(READY)
    with _ForkServer(asked) as forks:
        own = forks.run()
    if own is None:
        return
    with own.about, own.about.makefile("rb") as lines:
        request: ServeRequest = pickle.load(lines)  # noqa: S301  from the test, which may do anything
    _become(request)
    from doorkeeper.testing.serving import serve  # noqa: PLC0415  imported above, or missing

    serve(request.keys, Path(request.folder) / "data", request.beginning, own.control)


def _import(names: tuple[str, ...]) -> None:
    for name in names:
        # The server that needs a missing or broken module reports it.
        with suppress(Exception):
            import_module(name)
    gc.freeze()


class _ForkServer:
    """Forks on request; closes its sockets with the block, in forked processes too."""

    def __init__(self, asked: socket.socket) -> None:
        self._asked = asked
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_write.setblocking(False)
        self._abouts: dict[int, socket.socket] = {}
        # The end of a child interrupts ``poll`` only through a descriptor: PEP 475 restarts the
        # call after a handler.
        signal.set_wakeup_fd(self._wake_write.fileno())
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        signal.set_wakeup_fd(-1)
        for each in (self._asked, self._wake_read, self._wake_write, *self._abouts.values()):
            each.close()

    def run(self) -> _ServerSockets | None:
        """Return a forked process's own sockets in that process, and None at the end."""
        # select() is limited to descriptors below 1,024; this one was chosen in the test's process.
        ready = select.poll()
        for each in (self._asked, self._wake_read):
            ready.register(each, select.POLLIN)
        while True:
            numbers = [number for number, _ in ready.poll()]
            if self._wake_read.fileno() in numbers:
                self._report_ended()
            if self._asked.fileno() not in numbers:
                continue
            needs, descriptors = self._receive()
            if not needs:
                self._end_all()
                return None
            try:
                own = self._fork(Needs(needs[0]), descriptors)
            except OSError as error:
                # The limit of files or processes is reached; the test sees a closed socket.
                sys.stderr.write(f"doorkeeper.testing: a server could not be forked: {error}\n")
                continue
            if own is not None:
                return own

    def _receive(self) -> tuple[bytes, list[int]]:
        try:
            needs, descriptors, _, _ = socket.recv_fds(self._asked, 1, _DESCRIPTORS)
        except ConnectionError:  # the test has ended without waiting until this one is ready
            return b"", []
        return needs, descriptors

    def _fork(self, needs: Needs, descriptors: list[int]) -> _ServerSockets | None:
        """Fork a server; return its sockets in the forked process, and None here."""
        with ExitStack() as received:
            for each in descriptors:
                received.callback(os.close, each)
                # A process that the server starts must not hold the test's pipes open.
                os.set_inheritable(each, False)
            if len(descriptors) < _DESCRIPTORS:
                raise OSError(f"{len(descriptors)} of {_DESCRIPTORS} descriptors came")
            for need in needs:
                _import(_IMPORTS_FOR[need])
            stdout, stderr, about, control = descriptors
            pid = os.fork()
            if not pid:
                # A forked process has these from the fork server: restored, so that it starts like
                # a new process.
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                os.dup2(stdout, 1)
                os.dup2(stderr, 2)
                return _ServerSockets(
                    *(socket.socket(fileno=os.dup(each)) for each in (about, control))
                )
            self._abouts[pid] = socket.socket(fileno=os.dup(about))
            _report(self._abouts[pid], pid)
            return None

    def _report_ended(self) -> None:
        """Report the exit status of each process that has ended."""
        # The bytes say nothing: signals of several children may arrive as one.
        self._wake_read.recv(4096)
        while self._abouts:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with self._abouts.pop(pid) as about:
                _report(about, os.waitstatus_to_exitcode(status))

    def _end_all(self) -> None:
        """Terminate all servers; kill those that are stopped or stuck."""
        self._signal_all(signal.SIGTERM)
        deadline_s = time.monotonic() + _END_S
        while self._abouts and (left_s := deadline_s - time.monotonic()) > 0:
            self._wake_read.settimeout(left_s)
            with suppress(TimeoutError):
                self._report_ended()
        self._signal_all(signal.SIGKILL)

    def _signal_all(self, number: int) -> None:
        for pid in self._abouts:
            # Children that have ended are zombies until ``waitpid``: no id can have been reused.
            os.kill(pid, number)


def _report(about: socket.socket, number: int) -> None:
    with suppress(OSError):  # the test may have ended
        about.sendall(b"%d\n" % number)


def _become(request: ServeRequest) -> None:
    """Take over environment, module path and folder of the test's process."""
    os.environ.clear()
    os.environ.update(request.environment)
    # The C library reads TZ only once.
    time.tzset()
    sys.path[:] = request.module_path
    sys.argv[:] = ["doorkeeper", "serve"]
    os.chdir(request.folder)


if __name__ == "__main__":
    main()
