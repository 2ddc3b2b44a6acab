"""Fault injection for a server in another process, over a socket.

A message is a header (its number and size) and a body in JSON. The response repeats the number, and
adds how often the fault has struck. Both ends belong to the test.
"""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from itertools import count
from typing import Final

from msgspec import Struct, json

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.testing.faults import Fault, FaultControl, FaultKind, LocalFaults

_ANSWER_S: Final = 20.0
_HEAD: Final = struct.Struct(">II")
"""The number and size of a message; in a response the number, and the count of the fault."""


class _FaultMessage(Struct, frozen=True):
    """Begins a fault with its description, queries its count, or ends it."""

    number: int
    description: _FaultDescription | None = None
    ends: bool = False


class _FaultDescription(Struct, frozen=True):
    kind: str
    """The name of a ``FaultKind``."""
    subject: int | str
    times: int | None
    delay_s: float
    error: tuple[int, str | None] | None
    struck: int


_ALL_END: Final = _FaultMessage(-1, ends=True)


class RemoteFaults(FaultControl):
    """The faults of a server in another process, on the test's side.

    Each method may raise TimeoutError if the server does not respond.
    """

    def __init__(self, control: socket.socket, answer_s: float = _ANSWER_S) -> None:
        """Send messages over this socket, and wait ``answer_s`` seconds for each response."""
        control.settimeout(answer_s)
        self._control = control
        self._answer_s = answer_s
        self._lock = threading.Lock()
        self._asked = count()
        self._answered = bytearray()
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
            self._ask(_ALL_END)

    def begin(self, fault: Fault) -> None:
        """Activate a fault.

        Raises:
            RuntimeError: the server has ended.
        """
        error = None if fault.error is None else (int(fault.error.code), fault.error.message)
        description = _FaultDescription(
            fault.kind.name, fault.subject, fault.times, fault.delay_s, error, fault.count
        )
        with self._lock:
            number = next(self._numbers)
            try:
                known = self._ask(_FaultMessage(number, description))
            except TimeoutError:
                # The server may still read the message later; then the fault must end at once.
                self._send(_FaultMessage(number, ends=True))
                raise
            if known is None:
                raise RuntimeError("the server has stopped: faults cannot be injected")
            self._active[fault] = number

    def end(self, fault: Fault) -> None:
        with self._lock:
            number = self._active.pop(fault, None)
            if number is not None:
                self._look(fault, _FaultMessage(number, ends=True))

    def look(self, fault: Fault) -> None:
        """Update the count of a fault; it stays as it is if the server has ended."""
        with self._lock:
            number = self._active.get(fault)
            if number is not None:
                self._look(fault, _FaultMessage(number))

    def _look(self, fault: Fault, message: _FaultMessage) -> None:
        struck = self._ask(message)
        if struck is not None:
            fault.count = struck

    def _ask(self, message: _FaultMessage) -> int | None:
        """Return the count of a fault; None if the server has ended."""
        number = self._send(message)
        try:
            while True:
                answered, struck = self._answer()
                # An older response belongs to a request that timed out.
                if answered == number:
                    return struck
        except TimeoutError:
            text = f"the server has not answered in {self._answer_s:g} s: it is stopped, or stuck"
            raise TimeoutError(text) from None
        except (OSError, EOFError):
            return None

    def _send(self, message: _FaultMessage) -> int:
        number = next(self._asked)
        body = json.encode(message)
        with suppress(OSError):  # then there is no answer either
            self._control.sendall(_HEAD.pack(number, len(body)) + body)
        return number

    def _answer(self) -> tuple[int, int]:
        while len(self._answered) < _HEAD.size:
            received = self._control.recv(_HEAD.size - len(self._answered))
            if not received:
                raise EOFError
            self._answered += received
        answer = _HEAD.unpack(self._answered)
        self._answered.clear()
        return answer


def serve_faults(control: socket.socket, faults: LocalFaults) -> None:
    """Begin and end faults as the test requests, until it closes the socket."""
    known: dict[int, Fault] = {}
    with control, control.makefile("rb") as stream, suppress(OSError):
        while head := stream.read(_HEAD.size):
            number, size = _HEAD.unpack(head)
            message = json.decode(stream.read(size), type=_FaultMessage)
            control.sendall(_HEAD.pack(number, _apply(message, faults, known)))


def _apply(message: _FaultMessage, faults: LocalFaults, known: dict[int, Fault]) -> int:
    if message == _ALL_END:
        faults.clear()
        known.clear()
        return 0
    if message.description is not None:
        known[message.number] = _fault_of(message.description, faults)
        faults.begin(known[message.number])
    fault = known[message.number]
    if message.ends:
        faults.end(known.pop(message.number))
    return fault.count


def _fault_of(description: _FaultDescription, faults: LocalFaults) -> Fault:
    error = None
    if description.error is not None:
        code, text = description.error
        error = ApiError(ErrorCode(code), text)
    fault = Fault(
        faults,
        FaultKind[description.kind],
        description.subject,
        times=description.times,
        delay_s=description.delay_s,
        error=error,
    )
    fault.count = description.struck
    return fault
