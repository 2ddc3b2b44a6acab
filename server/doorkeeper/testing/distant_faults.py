"""The faults of a server in a process of its own: the test tells them over a socket.

Each message is pickled, and answered with how often the fault has struck. Both ends belong to the
test, and no other process has them.
"""

from __future__ import annotations

import pickle
import threading
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.testing.faults import AnyFaults, Fault, Faults, Kind

if TYPE_CHECKING:
    import socket

_ANSWER_S: Final = 20.0


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
    """The faults of a server in another process, from the test's side."""

    def __init__(self, control: socket.socket) -> None:
        """Tell them over this socket."""
        control.settimeout(_ANSWER_S)
        self._control = control
        self._stream = control.makefile("rwb")
        self._lock = threading.Lock()
        self._numbers = count()
        self._begun: dict[Fault, int] = {}

    def close(self) -> None:
        """End them all, for a server that has ended."""
        with self._lock:
            self._begun.clear()
            with suppress(OSError):  # what nobody reads any more cannot be written
                self._stream.close()
            self._control.close()

    def clear(self) -> None:
        """End all of them."""
        with self._lock:
            self._begun.clear()
            self._answer(_ALL_END)

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
            number = self._begun[fault] = next(self._numbers)
            if self._answer(_Told(number, described)) is None:
                raise RuntimeError("the server has ended: what shall go wrong there?")

    def end(self, fault: Fault) -> None:
        """Let it strike no more."""
        with self._lock:
            number = self._begun.pop(fault, None)
            if number is not None:
                self._take(fault, _Told(number, ends=True))

    def look(self, fault: Fault) -> None:
        """Ask how often it has struck; of a server that has ended, nothing new is known."""
        with self._lock:
            number = self._begun.get(fault)
            if number is not None:
                self._take(fault, _Told(number))

    def _take(self, fault: Fault, told: _Told) -> None:
        struck = self._answer(told)
        if struck is not None:
            fault.count = struck

    def _answer(self, told: _Told) -> int | None:
        try:
            pickle.dump(told, self._stream)
            self._stream.flush()
            answer: int = pickle.load(self._stream)  # noqa: S301  from a process of the test's own
        except (OSError, EOFError, ValueError):  # it has ended, or this end is closed
            return None
        return answer


def obey(control: socket.socket, faults: Faults) -> None:
    """Begin and end faults as a test tells, until it tells no more."""
    known: dict[int, Fault] = {}
    with control, control.makefile("rwb") as stream, suppress(OSError, EOFError):
        while True:
            told: _Told = pickle.load(stream)  # noqa: S301  from the test, which may do anything
            pickle.dump(_obeyed(told, faults, known), stream)
            stream.flush()


def _obeyed(told: _Told, faults: Faults, known: dict[int, Fault]) -> int:
    if told == _ALL_END:
        faults.clear()
        known.clear()
        return 0
    if told.described is not None:
        fault = known[told.number] = _made(told.described, faults)
        faults.begin(fault)
        return fault.count
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
