"""Splits a byte stream into frames: an int32 size, then that many bytes.

The buffer does no I/O, and holds no more than the bytes received: nothing is allocated for an
announced size, and a frame above the limit is rejected before it is buffered. Chunks are kept as
received and joined once the frame is complete; small ones are merged first, so that a peer which
sends single bytes costs no more memory than its bytes.
"""

from struct import Struct

from doorkeeper_wire.errors import InvalidFrame

_PREFIX_BYTES = 4
# Reads a size in place: less than half the cost of slicing.
_INT32_AT = Struct(">i").unpack_from
# Smaller chunks are merged: the overhead of an object would exceed their bytes.
_CHUNK_BYTES_MIN = 4096


class FrameBuffer:
    """The received bytes of one connection.

    After an `InvalidFrame` frame boundaries are lost; the connection must be closed.
    """

    __slots__ = ("_chunks", "_needed", "_size", "buffered", "is_between_frames", "size_max")

    def __init__(self, size_max: int) -> None:
        """Start an empty stream with frames of at most `size_max` bytes after the prefix."""
        self.size_max = size_max
        self.buffered = 0
        """The number of bytes held that are not part of a returned frame."""
        self.is_between_frames = True
        """Whether the next byte is the first of a frame."""
        self._chunks: list[bytes | bytearray] = []
        self._size = -1
        self._needed = _PREFIX_BYTES

    def receive(self, data: bytes) -> list[bytes]:
        """Add received bytes; return the complete frames, without their prefix.

        Frames before an invalid one are returned first; the next call, with or without data, checks
        it again, against the limit at that time.

        Raises:
            InvalidFrame: a size is negative or above the limit.
        """
        if data:
            size = len(data) - _PREFIX_BYTES
            if self.is_between_frames and 0 <= size <= self.size_max and _INT32_AT(data)[0] == size:
                # Nearly always one frame arrives, and nothing else.
                return [data[_PREFIX_BYTES:]]
            self._keep(data)
        if self.buffered < self._needed:
            return []
        return self._cut(b"".join(self._chunks))

    def _keep(self, data: bytes) -> None:
        chunks = self._chunks
        if len(data) < _CHUNK_BYTES_MIN and chunks and len(chunks[-1]) < _CHUNK_BYTES_MIN:
            if not isinstance(chunks[-1], bytearray):
                chunks[-1] = bytearray(chunks[-1])
            chunks[-1] += data
        else:
            chunks.append(data)
        self.buffered += len(data)
        self.is_between_frames = False

    def _cut(self, held: bytes) -> list[bytes]:
        """Return the complete frames of the held bytes, and keep the rest."""
        frames: list[bytes] = []
        at, end = 0, len(held)
        while True:
            if self._size < 0:
                if end - at < _PREFIX_BYTES:
                    self._needed = _PREFIX_BYTES
                    break
                (size,) = _INT32_AT(held, at)
                if not 0 <= size <= self.size_max:
                    # Complete frames are returned now; the next call raises the error.
                    if not frames:
                        raise InvalidFrame(size, self.size_max)
                    self._needed = _PREFIX_BYTES
                    break
                self._size = size
                at += _PREFIX_BYTES
            if end - at < self._size:
                self._needed = self._size
                break
            frames.append(held[at : at + self._size])
            at += self._size
            self._size = -1
        rest = held[at:] if at else held
        self._chunks = [rest] if rest else []
        self.buffered = len(rest)
        self.is_between_frames = not rest and self._size < 0
        return frames
