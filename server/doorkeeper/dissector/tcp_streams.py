"""Puts the segments of one direction of a connection in order."""

from __future__ import annotations

from typing import Final

HELD_BYTES_MAX: Final = 4 * 1024 * 1024
"""The largest receive window in wide use: more cannot be under way behind a missing segment."""

HELD_SEGMENTS_MAX: Final = 4096

_MODULUS: Final = 1 << 32


class TcpStream:
    """One direction. It begins with SYN, or with the first segment seen.

    A segment that was sent again counts once. `is_broken` says that bytes are missing: more has
    arrived behind them than a receiver would hold.
    """

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self.is_broken = False
        self._next: int | None = None
        self._held: dict[int, bytes] = {}
        self._held_bytes = 0

    @property
    def held_bytes(self) -> int:
        """Return how many bytes wait for others before them."""
        return self._held_bytes

    def begin(self, sequence: int) -> None:
        """Take the sequence number of the first byte, the one after SYN's; SYN may come twice."""
        if self._next is None:
            self._next = sequence % _MODULUS

    def receive(self, sequence: int, data: bytes) -> bytes:
        """Take the data of a segment; return the bytes that are in order now."""
        if not data or self.is_broken:
            return b""
        if self._next is None:
            self._next = sequence
        if _distance(self._next, sequence) > 0:
            self._hold(sequence, data)
            return b""
        out = bytearray(self._advance(sequence, data))
        while self._held:
            start = next((each for each in self._held if _distance(self._next, each) <= 0), None)
            if start is None:
                break
            held = self._held.pop(start)
            self._held_bytes -= len(held)
            out += self._advance(start, held)
        return bytes(out)

    def abandon(self) -> None:
        """Forget what is held, and take no more."""
        self.is_broken = True
        self._held.clear()
        self._held_bytes = 0

    def _hold(self, sequence: int, data: bytes) -> None:
        before = len(self._held.get(sequence, b""))
        if len(data) > before:
            self._held[sequence] = data
            self._held_bytes += len(data) - before
        if self._held_bytes > HELD_BYTES_MAX or len(self._held) > HELD_SEGMENTS_MAX:
            self.abandon()

    def _advance(self, sequence: int, data: bytes) -> bytes:
        """Return what is new of a segment that does not begin behind the next byte."""
        assert self._next is not None, "the first segment set it"
        new = data[-_distance(self._next, sequence) :]
        self._next = (self._next + len(new)) % _MODULUS
        return new


def _distance(start: int, end: int) -> int:
    """Return end - start of numbers that begin anew after 2**32, negative for an earlier one."""
    return (end - start + _MODULUS // 2) % _MODULUS - _MODULUS // 2
