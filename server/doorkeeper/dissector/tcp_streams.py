"""Puts the segments of one direction of a connection in order."""

from __future__ import annotations

from typing import Final

HELD_BYTES_MAX: Final = 4 * 1024 * 1024
"""The largest common receive window: no more can be in flight after a missing segment."""

HELD_SEGMENTS_MAX: Final = 4096

_MODULUS: Final = 1 << 32


class TcpStream:
    """One direction of a connection, from its SYN or from the first segment seen.

    A retransmitted segment counts once. `is_broken`: bytes are missing, since more has arrived
    after them than a receive window holds.
    """

    def __init__(self) -> None:
        self.is_broken = False
        self._next: int | None = None
        self._held: dict[int, bytes] = {}
        self._held_bytes = 0

    @property
    def held_bytes(self) -> int:
        """Return the size of out-of-order segments."""
        return self._held_bytes

    def begin(self, sequence: int) -> None:
        """Take the sequence number of the first byte, the one after SYN's; SYN may be repeated."""
        if self._next is None:
            self._next = sequence % _MODULUS

    def receive(self, sequence: int, data: bytes) -> bytes:
        """Take the data of a segment; return the bytes that are now in order."""
        if not data or self.is_broken:
            return b""
        if self._next is None:
            self._next = sequence
        if _distance(self._next, sequence) > 0:
            self._hold(sequence, data)
            return b""
        out = bytearray(self._advance(sequence, data))
        while self._held:
            # O(n) in held segments, of which there are few: captures are mostly in order.
            start = next((each for each in self._held if _distance(self._next, each) <= 0), None)
            if start is None:
                break
            held = self._held.pop(start)
            self._held_bytes -= len(held)
            out += self._advance(start, held)
        return bytes(out)

    def abandon(self) -> None:
        """Drop all data, and take no more."""
        self.is_broken = True
        self._held.clear()
        self._held_bytes = 0

    def _hold(self, sequence: int, data: bytes) -> None:
        before = len(self._held.get(sequence, b""))
        # A retransmission may carry more than the segment that it repeats.
        if len(data) > before:
            self._held[sequence] = data
            self._held_bytes += len(data) - before
        if self._held_bytes > HELD_BYTES_MAX or len(self._held) > HELD_SEGMENTS_MAX:
            self.abandon()

    def _advance(self, sequence: int, data: bytes) -> bytes:
        """Return the new bytes of a segment that does not begin after the next byte."""
        assert self._next is not None, "the first segment set it"
        new = data[-_distance(self._next, sequence) :]
        self._next = (self._next + len(new)) % _MODULUS
        return new


def _distance(start: int, end: int) -> int:
    """Return end - start of sequence numbers modulo 2**32, negative for an earlier end."""
    return (end - start + _MODULUS // 2) % _MODULUS - _MODULUS // 2
