"""Cuts a stream of bytes into frames, including those that a server would refuse.

``doorkeeper_wire.framing`` is for servers: it raises at an invalid frame and does not return an
incomplete one. A dissector shows both.
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
    """The offset of the frame in its stream."""
    data: bytes
    """The size prefix, and the bytes received after it."""
    end: str = ""
    """The reason why the frame is incomplete; empty for a whole frame."""
    stream: str = ""
    """The stream of a capture, as ``10.0.0.7:50000 > 10.0.0.1:9092``."""

    @property
    def size(self) -> int | None:
        """Return the announced size; None if the prefix is incomplete."""
        if len(self.data) < PREFIX_BYTES:
            return None
        return int.from_bytes(self.data[:PREFIX_BYTES], "big", signed=True)


class FrameCutter:
    """The frames of one stream. After an invalid size the stream is lost."""

    def __init__(self, frame_bytes_max: int) -> None:
        self.frame_bytes_max = frame_bytes_max
        self.is_lost = False
        """Whether the frame boundaries are lost."""
        self._offset = 0
        self._held = bytearray()

    @property
    def held_bytes(self) -> int:
        """Return the size of the incomplete frame."""
        return len(self._held)

    def receive(self, data: bytes) -> Iterator[Frame]:
        """Take the next bytes; yield complete frames, and one with an invalid size."""
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
        """End the stream; yield the incomplete frame, if there is one.

        An incomplete stream continues, so its next frame is cut off even between frames.
        """
        if self._held or (is_incomplete and not self.is_lost):
            yield self._cut(len(self._held))._replace(end=reason)
        self.abandon()

    def abandon(self) -> None:
        """Drop all data, and take no more."""
        self.is_lost = True
        self._held.clear()

    def _cut(self, count: int) -> Frame:
        frame = Frame(self._offset, bytes(memoryview(self._held)[:count]))
        del self._held[:count]
        self._offset += count
        return frame
