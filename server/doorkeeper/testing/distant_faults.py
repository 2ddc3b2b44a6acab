"""The faults of a server in a process of its own: the test tells them over a socket.

What is told is pickled, behind its size and a number; the answer is this number, and how often the
fault has struck. Both ends belong to the test, and nobody else has them.
"""

from __future__ import annotations

import pickle
import socket
import struct
import threading
from contextlib import suppress
from itertools import count
from typing import Final, NamedTuple

from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.testing.faults import AnyFaults, Fault, Faults, Kind
from doorkeeper.testing.pickling import dumps

_ANSWER_S: Final = 20.0
_HEAD: Final = struct.Struct(">II")
"""The number of a message and its size; of an answer, its message's number and what was counted."""


class _Told(NamedTuple):
    """A fault, by number, that begins as it is described, is looked at, or ends."""

    number: int
    described: _Described | None = None
    ends: bool = False


class _Described(NamedTuple):
    kind: Kind
    subject: int | str
    times: int | None
    delay_s: float
    error: tuple[int, str | None] | None
    struck: int


_ALL_END: Final = _Told(-1, ends=True)


class DistantFaults(AnyFaults):
    """The faults of a server in another process, from the test's side.

    Each method may raise TimeoutError: the server does not answer.
    """

    def __init__(self, control: socket.socket, answer_s: float = _ANSWER_S) -> None:
        """Tell them over this socket, and wait so long for an answer."""
        control.settimeout(answer_s)
        self._control = control
        self._answer_s = answer_s
        self._lock = threading.Lock()
        self._asked = count()
        self._answered = bytearray()
        self._numbers = count()
        self._begun: dict[Fault, int] = {}

    def close(self) -> None:
        """End them all, for a server that has ended."""
        with self._lock:
            self._begun.clear()
            self._control.close()

    def clear(self) -> None:
        """End all of them."""
        with self._lock:
            self._begun.clear()
            self._ask(_ALL_END)

    def begin(self, fault: Fault) -> None:
        """Let it strike from now on.

        Raises:
            RuntimeError: the server has ended.

        """
        error = None if fault.error is None else (int(fault.error.code), fault.error.message)
        described = _Described(
            fault.kind, fault.subject, fault.times, fault.delay_s, error, fault.count
        )
        with self._lock:
            number = next(self._numbers)
            try:
                known = self._ask(_Told(number, described))
            except TimeoutError:
                # The server may come to it later: then it shall be over at once.
                self._send(_Told(number, ends=True))
                raise
            if known is None:
                raise RuntimeError("the server has ended: what shall go wrong there?")
            self._begun[fault] = number

    def end(self, fault: Fault) -> None:
        """Let it strike no more."""
        with self._lock:
            number = self._begun.pop(fault, None)
            if number is not None:
                self._look(fault, _Told(number, ends=True))

    def look(self, fault: Fault) -> None:
        """Ask how often it has struck; of a server that has ended, nothing new is known."""
        with self._lock:
            number = self._begun.get(fault)
            if number is not None:
                self._look(fault, _Told(number))

    def _look(self, fault: Fault, told: _Told) -> None:
        struck = self._ask(told)
        if struck is not None:
            fault.count = struck

    def _ask(self, told: _Told) -> int | None:
        """Return how often a fault has struck; None where the server has ended."""
        number = self._send(told)
        try:
            while True:
                answered, struck = self._answer()
                # What is older was asked by somebody who did not wait for it.
                if answered == number:
                    return struck
        except TimeoutError:
            text = f"the server has not answered in {self._answer_s:g} s: it is stopped, or stuck"
            raise TimeoutError(text) from None
        except (OSError, EOFError):
            return None

    def _send(self, told: _Told) -> int:
        number = next(self._asked)
        message = dumps(told)
        with suppress(OSError):  # then there is no answer either
            self._control.sendall(_HEAD.pack(number, len(message)) + message)
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


def obey(control: socket.socket, faults: Faults) -> None:
    """Begin and end faults as a test tells, until it tells no more."""
    known: dict[int, Fault] = {}
    with control, control.makefile("rb") as stream, suppress(OSError):
        while head := stream.read(_HEAD.size):
            number, size = _HEAD.unpack(head)
            told: _Told = pickle.loads(stream.read(size))  # noqa: S301  from the test
            control.sendall(_HEAD.pack(number, _obeyed(told, faults, known)))


def _obeyed(told: _Told, faults: Faults, known: dict[int, Fault]) -> int:
    if told == _ALL_END:
        faults.clear()
        known.clear()
        return 0
    if told.described is not None:
        known[told.number] = _made(told.described, faults)
        faults.begin(known[told.number])
    fault = known[told.number]
    if told.ends:
        faults.end(known.pop(told.number))
    return fault.count


def _made(described: _Described, faults: Faults) -> Fault:
    error = None
    if described.error is not None:
        code, message = described.error
        error = ApiError(ErrorCode(code), message)
    fault = Fault(
        faults,
        described.kind,
        described.subject,
        times=described.times,
        delay_s=described.delay_s,
        error=error,
    )
    fault.count = described.struck
    return fault
