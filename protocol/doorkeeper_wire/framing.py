"""Cuts a stream of bytes into frames: an int32 size, then as many bytes.

The buffer does no input or output, and holds no more than has arrived: a size is a promise of the
peer, nothing is allocated for it, and a frame above the cap is refused before it is gathered.
Chunks are kept as they came and joined once, when a frame is whole.
"""

from doorkeeper_wire.errors import InvalidFrame

_PREFIX_BYTES = 4


class FrameBuffer:
    """Bytes of one connection on their way to become frames.

    After an `InvalidFrame` the stream cannot be followed any more; the connection must go.
    """

    __slots__ = ("_chunks", "_needed", "_size", "buffered", "size_max")

    def __init__(self, size_max: int) -> None:
        """Begin an empty stream whose frames have at most `size_max` bytes behind the prefix."""
        self.size_max = size_max
        self.buffered = 0
        """How many bytes are held and not yet part of a frame."""
        self._chunks: list[bytes] = []
        self._size = -1
        self._needed = _PREFIX_BYTES

    def receive(self, data: bytes) -> list[bytes]:
        """Take what has arrived; return the frames that are whole now, without their prefix.

        Raises:
            InvalidFrame: for a size that is negative or above the cap. Frames before it are lost.
        """
        self._chunks.append(data)
        self.buffered += len(data)
        if self.buffered < self._needed:
            return []
        return self._cut(data if len(self._chunks) == 1 else b"".join(self._chunks))

    def _cut(self, held: bytes) -> list[bytes]:
        """Return the whole frames of what is held, and keep the rest."""
        frames = []
        at, end = 0, len(held)
        while True:
            if self._size < 0:
                if end - at < _PREFIX_BYTES:
                    self._needed = _PREFIX_BYTES
                    break
                self._size = self._checked(held[at : at + _PREFIX_BYTES])
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
        return frames

    def _checked(self, prefix: bytes) -> int:
        size = int.from_bytes(prefix, "big", signed=True)
        if not 0 <= size <= self.size_max:
            raise InvalidFrame(size, self.size_max)
        return size
