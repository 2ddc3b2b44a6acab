"""A process that has imported the server, and forks one for each that is asked for.

``python -m doorkeeper.testing.fork_server 5``, where 5 is a socket. Importing is nine tenths of a
server's start, and this is done once. It has one thread, opens nothing of a server's, and runs no
event loop, so that what it forks begins as a new process does.

On the socket it says when it is ready. Then a byte comes for each server, its ``Needs``, with four
descriptors: stdout, stderr, and two sockets. On the first of those the forked process reads what it
is to serve, a pickled ``Wanted``; and this process tells its id, and in the end its status, a line
each. Over the second the server is told what is to go wrong. When nobody can ask any more, all
servers are told to end, and those that do not are killed: none is left behind.
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
    """What a server needs beside what all need; it is imported when one needs it first."""

    NOTHING = 0
    TLS = 1
    CATALOG = 2


READY: Final = b"r"
"""What this process says when it has imported what all servers need."""

_DESCRIPTORS: Final = 4
_END_S: Final = 3.0
"""How long servers may take to end when nobody is left who asked for them."""

_IMPORTED: Final = (
    "doorkeeper.testing.serving",
    # What its start imports then:
    "concurrent.futures.thread",
    "doorkeeper.authn.plain",
    "doorkeeper.authn.scram_provider",
    "encodings.idna",
    "encodings.latin_1",
    "uvloop",
)
_IMPORTED_FOR: Final = {
    Needs.TLS: (
        "cryptography.hazmat.primitives.serialization",
        "cryptography.x509",
        "doorkeeper.tls.listener_tls",
    ),
    Needs.CATALOG: ("doorkeeper.catalog.loading",),
}


class Wanted(NamedTuple):
    """What a forked process is to serve, and what it would have from a parent that starts it."""

    keys: dict[str, str]
    """Of server.properties."""
    environment: dict[str, str]
    module_path: list[str]
    folder: str
    beginning: Configuration | None
    """What its new store holds in the beginning; None where the store is there."""


class _Own(NamedTuple):
    """The sockets of one server: what is said about it, and what it is told."""

    about: socket.socket
    control: socket.socket


def main() -> None:
    """Fork servers, and in a forked process be one."""
    # From a terminal they come to everybody: the test decides what becomes of its servers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # What is imported stays, and a collection would write to memory that all processes share.
    gc.disable()
    _import(_IMPORTED)
    asked = socket.socket(fileno=int(sys.argv[1]))
    with suppress(OSError):  # nobody may be left who waits
        asked.sendall(READY)
    with _ForkServer(asked) as forks:
        own = forks.run()
    if own is None:
        return
    with own.about, own.about.makefile("rb") as lines:
        wanted: Wanted = pickle.load(lines)  # noqa: S301  from the test, which may do anything
    _become(wanted)
    from doorkeeper.testing.serving import serve  # noqa: PLC0415  imported above, or missing

    serve(wanted.keys, Path(wanted.folder) / "data", wanted.beginning, own.control)


def _import(names: tuple[str, ...]) -> None:
    for name in names:
        # What is missing, or broken, is told by the server that needs it.
        with suppress(Exception):
            import_module(name)
    gc.freeze()


class _ForkServer:
    """Forks while it is asked to; closes its sockets with the block, in what it forked too."""

    def __init__(self, asked: socket.socket) -> None:
        self._asked = asked
        self._woken, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        self._abouts: dict[int, socket.socket] = {}
        signal.set_wakeup_fd(self._wake.fileno())
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        signal.set_wakeup_fd(-1)
        for each in (self._asked, self._woken, self._wake, *self._abouts.values()):
            each.close()

    def run(self) -> _Own | None:
        """Return in each forked process what is its own, and None at the end."""
        # select() has no place for descriptors over 1,023, and the test may have chosen this one.
        ready = select.poll()
        for each in (self._asked, self._woken):
            ready.register(each, select.POLLIN)
        while True:
            numbers = [number for number, _ in ready.poll()]
            if self._woken.fileno() in numbers:
                self._tell_ended()
            if self._asked.fileno() not in numbers:
                continue
            needs, descriptors = self._received()
            if not needs:
                self._end_all()
                return None
            try:
                own = self._forked(Needs(needs[0]), descriptors)
            except OSError as error:
                # Nobody asks for the impossible: there are too many files, or processes.
                sys.stderr.write(f"doorkeeper.testing: a server could not be forked: {error}\n")
                continue
            if own is not None:
                return own

    def _received(self) -> tuple[bytes, list[int]]:
        try:
            needs, descriptors, _, _ = socket.recv_fds(self._asked, 1, _DESCRIPTORS)
        except ConnectionError:  # the test has ended without waiting until this one is ready
            return b"", []
        return needs, descriptors

    def _forked(self, needs: Needs, descriptors: list[int]) -> _Own | None:
        """Fork a server; return its sockets in the forked process, and None here."""
        with ExitStack() as received:
            for each in descriptors:
                received.callback(os.close, each)
                os.set_inheritable(each, False)
            if len(descriptors) < _DESCRIPTORS:
                raise OSError(f"{len(descriptors)} of {_DESCRIPTORS} descriptors came")
            for need in needs:
                _import(_IMPORTED_FOR[need])
            stdout, stderr, about, control = descriptors
            pid = os.fork()
            if not pid:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                os.dup2(stdout, 1)
                os.dup2(stderr, 2)
                return _Own(*(socket.socket(fileno=os.dup(each)) for each in (about, control)))
            self._abouts[pid] = socket.socket(fileno=os.dup(about))
            _tell(self._abouts[pid], pid)
            return None

    def _tell_ended(self) -> None:
        """Tell the status of each process that has ended since."""
        self._woken.recv(4096)
        while self._abouts:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with self._abouts.pop(pid) as about:
                _tell(about, os.waitstatus_to_exitcode(status))

    def _end_all(self) -> None:
        """End all servers: some may be stopped, or have an authorizer that is stuck."""
        self._signal_all(signal.SIGTERM)
        deadline_s = time.monotonic() + _END_S
        while self._abouts and (left_s := deadline_s - time.monotonic()) > 0:
            self._woken.settimeout(left_s)
            with suppress(TimeoutError):
                self._tell_ended()
        self._signal_all(signal.SIGKILL)

    def _signal_all(self, number: int) -> None:
        for pid in self._abouts:
            os.kill(pid, number)


def _tell(about: socket.socket, number: int) -> None:
    with suppress(OSError):  # nobody may be left who wants to know
        about.sendall(b"%d\n" % number)


def _become(wanted: Wanted) -> None:
    """Have what a process has from a parent that starts it."""
    os.environ.clear()
    os.environ.update(wanted.environment)
    time.tzset()
    sys.path[:] = wanted.module_path
    sys.argv[:] = ["doorkeeper", "serve"]
    os.chdir(wanted.folder)


if __name__ == "__main__":
    main()
