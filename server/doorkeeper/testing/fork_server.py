"""A process that has imported the server, and forks one for each that is asked for.

``python -m doorkeeper.testing.fork_server 5``, where 5 is a socket. Importing is nine tenths of a
server's start, and this is done once. It has one thread, opens nothing of a server's, and never
returns to an event loop, so that what it forks begins as a new process does.

On the socket comes a byte for each server, with four descriptors: stdout, stderr, and two sockets.
On the first of those the forked process reads what it is to serve, a pickled ``Wanted``; and this
process tells its id, and in the end its status, a line each. Over the second the server is told
what is to go wrong. When nobody can ask any more, all servers are told to end: none is left behind.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from doorkeeper.testing.configuration import Configuration

IN_CLEAR: Final = b"c"
ENCRYPTS: Final = b"e"
"""What kind of server is asked for."""

_DESCRIPTORS: Final = 4
_IMPORTED: Final = (
    "doorkeeper.testing.serving",
    # What its start imports then:
    "concurrent.futures.thread",
    "doorkeeper.authn.plain",
    "doorkeeper.authn.scram",
    "encodings.idna",
    "encodings.latin_1",
    "uvloop",
)
_IMPORTED_FOR_TLS: Final = (
    "cryptography.hazmat.primitives.serialization",
    "cryptography.x509",
    "doorkeeper.tls.listener_tls",
)


class Wanted(NamedTuple):
    """What a forked process is to serve, and what it would have from a parent that starts it."""

    keys: dict[str, str]
    """Of server.properties."""
    environment: dict[str, str]
    module_path: list[str]
    folder: str
    beginning: Configuration | None
    """What its new store holds in the beginning; None where the store is there."""


def main() -> None:
    """Fork servers, and in a forked process be one."""
    # From a terminal it comes to everybody: the test decides what becomes of its servers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What is imported stays, and a collection would write to memory that all processes share.
    gc.disable()
    _import(_IMPORTED)
    forked = _fork_for_each(socket.socket(fileno=int(sys.argv[1])))
    if forked is None:
        return
    about, control = forked
    with about, about.makefile("rb") as lines:
        wanted: Wanted = pickle.load(lines)  # noqa: S301  from the test, which may do anything
    _become(wanted)
    from doorkeeper.testing.serving import serve  # noqa: PLC0415  imported above, or missing

    serve(wanted.keys, Path(wanted.folder) / "data", wanted.beginning, control)


def _import(names: tuple[str, ...]) -> None:
    for name in names:
        # What is missing is missed, and told, by the server that needs it.
        with suppress(ImportError):
            import_module(name)
    gc.freeze()


def _fork_for_each(asked: socket.socket) -> tuple[socket.socket, socket.socket] | None:
    """Return the two sockets of its own in each forked process, and None at the end."""
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    abouts: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([asked, woken], [], [])
        if woken in ready:
            woken.recv(4096)
            _tell_ended(abouts)
        if asked not in ready:
            continue
        kind, descriptors, _, _ = socket.recv_fds(asked, 1, _DESCRIPTORS)
        if not kind:
            for pid in abouts:
                os.kill(pid, signal.SIGTERM)
            return None
        if kind == ENCRYPTS:
            _import(_IMPORTED_FOR_TLS)
        stdout, stderr, *sockets = descriptors
        about, control = (socket.socket(fileno=number) for number in sockets)
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.dup2(stdout, 1)
            os.dup2(stderr, 2)
            for other in (asked, woken, wake, *abouts.values()):
                other.close()
        os.close(stdout)
        os.close(stderr)
        if not pid:
            return about, control
        control.close()
        abouts[pid] = about
        _tell(about, pid)


def _tell_ended(abouts: dict[int, socket.socket]) -> None:
    """Tell the status of each process that has ended since."""
    while abouts:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with abouts.pop(pid) as about:
            _tell(about, os.waitstatus_to_exitcode(status))


def _tell(about: socket.socket, number: int) -> None:
    with suppress(OSError):  # nobody may be left who wants to know
        about.sendall(b"%d\n" % number)


def _become(wanted: Wanted) -> None:
    """Have what a process has from a parent that starts it."""
    os.environ.clear()
    os.environ.update(wanted.environment)
    sys.path[:] = wanted.module_path
    sys.argv[:] = ["doorkeeper", "serve"]
    os.chdir(wanted.folder)


if __name__ == "__main__":
    main()
