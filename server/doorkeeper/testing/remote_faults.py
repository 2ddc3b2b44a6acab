"""Fault injection for a server in another process, over a socket.

A message begins a fault, asks how often it has struck, or ends it. The response has the number of
the message, and how often the fault has struck. Both ends belong to the test.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from itertools import count
from multiprocessing.connection import Connection
from typing import Final

from msgspec import Struct, json

from doorkeeper.testing.faults import Fault, FaultControl, FaultSpec, LocalFaults

_ANSWER_S: Final = 20.0
_EVERY: Final = -1
"""Stands for all faults; they end together."""


class _Message(Struct, frozen=True):
    """``number`` is that of the message, ``fault`` that of a fault, which a ``spec`` begins."""

    number: int
    fault: int
    ends: bool = False
    spec: FaultSpec | None = None
    struck: int = 0


class RemoteFaults(FaultControl):
    """The faults of a server in another process, on the test's side.

    Each method may raise TimeoutError if the server does not respond.
    """

    def __init__(self, control: socket.socket, answer_s: float = _ANSWER_S) -> None:
        """Send messages over this socket, and wait ``answer_s`` seconds for each response."""
        self._control = Connection(control.detach())
        self._answer_s = answer_s
        self._lock = threading.Lock()
        self._asked = count()
        self._numbers = count()
        self._active: dict[Fault, int] = {}

    def close(self) -> None:
        """Forget all faults, after the server has ended."""
        with self._lock:
            self._active.clear()
            self._control.close()

    def clear(self) -> None:
        with self._lock:
            self._active.clear()
            self._ask(_EVERY, ends=True)

    def begin(self, fault: Fault) -> None:
        """Activate a fault.

        Raises:
            RuntimeError: the server has ended.
        """
        with self._lock:
            number = next(self._numbers)
            try:
                known = self._ask(number, spec=fault.spec, struck=fault.count)
            except TimeoutError:
                # The server may still read the message later; then the fault must end at once.
                self._send(_Message(next(self._asked), number, ends=True))
                raise
            if known is None:
                raise RuntimeError("the server has stopped: faults cannot be injected")
            self._active[fault] = number

    def end(self, fault: Fault) -> None:
        with self._lock:
            self._look(fault, self._active.pop(fault, None), ends=True)

    def look(self, fault: Fault) -> None:
        """Update the count of a fault; it stays as it is if the server has ended."""
        with self._lock:
            self._look(fault, self._active.get(fault))

    def _look(self, fault: Fault, number: int | None, *, ends: bool = False) -> None:
        struck = None if number is None else self._ask(number, ends=ends)
        if struck is not None:
            fault.count = struck

    def _ask(
        self, fault: int, *, ends: bool = False, spec: FaultSpec | None = None, struck: int = 0
    ) -> int | None:
        """Return the count of a fault; None if the server has ended."""
        message = _Message(next(self._asked), fault, ends, spec, struck)
        self._send(message)
        try:
            while self._control.poll(self._answer_s):
                answered, now_struck = json.decode(self._control.recv_bytes(), type=tuple[int, int])
                # An older response belongs to a request that timed out.
                if answered == message.number:
                    return now_struck
        except (OSError, EOFError):
            return None
        text = f"the server has not answered in {self._answer_s:g} s: it is stopped, or stuck"
        raise TimeoutError(text)

    def _send(self, message: _Message) -> None:
        with suppress(OSError):  # then there is no answer either
            self._control.send_bytes(json.encode(message))


def serve_faults(control: socket.socket, faults: LocalFaults) -> None:
    """Begin and end faults as the test requests, until it closes the socket."""
    known: dict[int, Fault] = {}
    with Connection(control.detach()) as stream, suppress(OSError, EOFError):
        while True:
            message = json.decode(stream.recv_bytes(), type=_Message)
            struck = _apply(message, faults, known)
            stream.send_bytes(json.encode((message.number, struck)))


def _apply(message: _Message, faults: LocalFaults, known: dict[int, Fault]) -> int:
    if message.fault == _EVERY:
        faults.clear()
        known.clear()
        return 0
    if message.spec is not None:
        known[message.fault] = Fault(faults, message.spec, message.struck)
        faults.begin(known[message.fault])
    fault = known[message.fault]
    if message.ends:
        faults.end(known.pop(message.fault))
    return fault.count
