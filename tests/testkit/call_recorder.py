"""``doorkeeper`` with a profile hook that records its calls while a test asks for it.

    python -m testkit.call_recorder <socket> serve --config server.properties

A test connects to the Unix socket and sends True to begin a recording, False to end it. To the
latter it gets the functions that were entered, as pairs of module and qualified name, in the order
of their first calls in all threads.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from multiprocessing.connection import Listener
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

PACKAGES = ("doorkeeper.", "doorkeeper_wire.")

TURN_S = 60


class CallRecorder:
    """The profile hook, and the thread that serves the socket.

    Only functions with source in the project's packages count: what ``collections`` or the
    standard library generate has a file name such as ``<string>``.
    """

    def __init__(self, address: str) -> None:
        self._listener = Listener(address, "AF_UNIX")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_connected = threading.Event()
        self._functions: dict[tuple[str, str], None] | None = None

    def start(self) -> None:
        """Install the hook in this thread and in all that begin later."""
        threading.Thread(target=self._serve, daemon=True).start()
        threading.setprofile(self._record)
        sys.setprofile(self._record)

    def _record(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(PACKAGES) or code.co_filename.startswith("<"):
            return
        if self._loop is None and code.co_name == "connection_made":
            self._loop = asyncio.get_running_loop()
            self._is_connected.set()
        functions = self._functions
        if functions is not None:
            functions[module, code.co_qualname] = None

    def _serve(self) -> None:
        while True:
            with self._listener.accept() as client:
                while True:
                    try:
                        begins = client.recv()
                    except EOFError:
                        break
                    self._wait_for_turn()
                    functions, self._functions = self._functions, {} if begins else None
                    client.send(list(functions or ()))

    def _wait_for_turn(self) -> None:
        """Wait until the event loop has run all callbacks that are scheduled now.

        A client can have the response before the callback that wrote it has returned.
        """
        turn = threading.Event()
        assert self._is_connected.wait(TURN_S), "no client has connected"
        assert self._loop is not None
        self._loop.call_soon_threadsafe(turn.set)
        assert turn.wait(TURN_S), "the event loop does not turn"


def main() -> None:
    """Run the command that follows the address of the socket."""
    recorder = CallRecorder(sys.argv.pop(1))
    recorder.start()
    from doorkeeper.cli import main as doorkeeper  # noqa: PLC0415  with the hook

    doorkeeper()


if __name__ == "__main__":
    main()
