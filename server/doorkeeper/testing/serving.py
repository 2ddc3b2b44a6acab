"""Runs the server of a ``DoorkeeperProcess``: ``python -m doorkeeper.testing.serving 5``.

5 is the socket of the fault injection; stdin has the keys of server.properties and the initial
content of the store, as JSON. The server ends when the test closes the socket, also by ending.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Thread
from typing import Any, Final

from msgspec import json

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.server.app import process
from doorkeeper.server.app.config_check import start_error_of
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.app.stores import initial_rows
from doorkeeper.server.config.loading import load_values
from doorkeeper.server.net.protocol.connection import Connection
from doorkeeper.server.net.protocol.exchange import Peer
from doorkeeper.server.runtime.threads import leave_threads_behind
from doorkeeper.server.schema.change import Author, Change, Origin
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.storage.sqlite import SqliteStore
from doorkeeper.server.state.store import StorageError
from doorkeeper.testing.configuration import (
    CONTROL,
    Beginning,
    Configuration,
    credentials_of,
    initial_change,
)
from doorkeeper.testing.faults import LocalFaults
from doorkeeper.testing.faulty_connection import FaultyConnection
from doorkeeper.testing.remote_faults import serve_faults

_FAILED: Final = 1
_END_S: Final = 3.0
_ORIGIN: Final = Origin(Author("", "", "", "doorkeeper.testing"))


def main() -> None:
    """Serve what stdin describes, with a store in the present folder."""
    # The server handles SIGHUP later; until then the signal must not end the process.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    control = socket.socket(fileno=int(sys.argv[1]))
    beginning = json.decode(sys.stdin.buffer.read(), type=Beginning)
    # A plug-in sees the arguments of a server.
    sys.argv[:] = ["doorkeeper", "serve"]
    serve(beginning, Path.cwd() / "data", control)


def serve(beginning: Beginning, data: Path, control: socket.socket) -> None:
    """Fill the store, then run like ``doorkeeper serve`` until the process ends.

    ``control`` is the socket of the fault injection.

    Raises:
        SystemExit: it was stopped, or did not start: the problems are on stderr, a line each.
    """
    problems: Iterable[object] = ()
    try:
        loaded = load_values(beginning.keys, "the test's")
        if beginning.configuration is not None:
            _fill(data, beginning.configuration, initial_rows(loaded.settings))
        overrides = [f"{key}={value}" for key, value in beginning.keys.items()]
        process.serve(None, overrides, loaded, _faulty(control))
    except ConfigError as error:
        problems = start_error_of(error).problems
    except StartError as error:
        problems = error.problems
    except StorageError as error:
        problems = [error]
    lines = [f"doorkeeper: {problem}\n" for problem in problems]
    sys.stderr.writelines(lines)
    status = _FAILED if lines else 0
    leave_threads_behind(status)
    sys.exit(status)


def _fill(data: Path, beginning: Configuration, initial: Change) -> None:
    change = initial_change(beginning, credentials_of(beginning))
    if change:
        asyncio.run(_store(data, change, initial))


async def _store(data: Path, change: Change, initial: Change) -> None:
    log = StateLog(
        SqliteStore(
            data,
            random_bytes=os.urandom,
            initial=initial,
        )
    )
    try:
        log.start()
        await log.submit(lambda _state: (change, None), _ORIGIN)
    finally:
        await log.aclose()


def _faulty(control: socket.socket) -> Callable[..., Connection]:
    faults = LocalFaults()

    def work() -> None:
        serve_faults(control, faults)
        # The test has ended without stopping its server.
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_END_S)
        os.kill(os.getpid(), signal.SIGKILL)

    Thread(target=work, name="doorkeeper-faults", daemon=True).start()

    def connect(peer: Peer, **others: Any) -> Connection:
        # The test's own requests are exempt from faults.
        if peer.listener_name == CONTROL:
            return Connection(peer, **others)
        return FaultyConnection(peer, faults=faults, **others)

    return connect


if __name__ == "__main__":
    main()
