"""Cuts a stream of bytes into frames, and keeps what a server would refuse.

``doorkeeper_wire.framing`` serves; it raises where a frame is invalid and does not give away the
beginning of a frame. Here both are what is looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

FRAME_BYTES_MAX: Final = 100 * 1024 * 1024
"""The default of ``socket.request.max.bytes``."""

PREFIX_BYTES: Final = 4


class Frame(NamedTuple):
    """A frame with its size prefix, or the beginning of one."""

    offset: int
    """Where the frame begins in its stream."""
    data: bytes
    """The size prefix and what there is of the rest."""
    end: str = ""
    """Why no more of the frame is there; empty for a whole frame."""
    stream: str = ""
    """Which stream of a capture it is from, as ``10.0.0.7:50000 > 10.0.0.1:9092``."""

    @property
    def size(self) -> int | None:
        """Return the announced size; None where even that is cut off."""
        if len(self.data) < PREFIX_BYTES:
            return None
        return int.from_bytes(self.data[:PREFIX_BYTES], "big", signed=True)


class FrameCutter:
    """The frames of one stream. After an invalid size nothing more of it can be read."""

    def __init__(self, frame_bytes_max: int) -> None:
        """Begin a stream whose frames announce at most so many bytes."""
        self.frame_bytes_max = frame_bytes_max
        self.is_lost = False
        """Whether the stream cannot be followed any more."""
        self._offset = 0
        self._held = bytearray()

    @property
    def held_bytes(self) -> int:
        """Return how many bytes of an unfinished frame are held."""
        return len(self._held)

    def receive(self, data: bytes) -> Iterator[Frame]:
        """Take the next bytes; yield the frames that are whole, and one with an invalid size."""
        if self.is_lost:
            return
        self._held += data
        while len(self._held) >= PREFIX_BYTES:
            size = int.from_bytes(self._held[:PREFIX_BYTES], "big", signed=True)
            if not 0 <= size <= self.frame_bytes_max:
                yield self._cut(PREFIX_BYTES)
                self.abandon()
                return
            if len(self._held) < PREFIX_BYTES + size:
                return
            yield self._cut(PREFIX_BYTES + size)

    def finish(self, reason: str, *, is_incomplete: bool = False) -> Iterator[Frame]:
        """End the stream; yield the frame that is cut off, if there is one.

        An incomplete stream is known to go on, so its next frame is cut off even between frames.
        """
        if self._held or (is_incomplete and not self.is_lost):
            yield self._cut(len(self._held))._replace(end=reason)
        self.abandon()

    def abandon(self) -> None:
        """Forget what is held, and take no more."""
        self.is_lost = True
        self._held.clear()

    def _cut(self, count: int) -> Frame:
        frame = Frame(self._offset, bytes(memoryview(self._held)[:count]))
        del self._held[:count]
        self._offset += count
        return frame
