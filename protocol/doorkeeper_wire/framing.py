"""Cuts a stream of bytes into frames: an int32 size, then as many bytes.

The buffer does no input or output, and holds no more than has arrived: a size is a promise of the
peer, nothing is allocated for it, and a frame above the cap is refused before it is gathered.
Chunks are kept as they came and joined once, when a frame is whole; small ones are gathered first,
so that a peer which sends byte by byte costs no more than its bytes.
"""

from struct import Struct

from doorkeeper_wire.errors import InvalidFrame

_PREFIX_BYTES = 4
_INT32_AT = Struct(">i").unpack_from
"""Reads a size where it stands: less than half the cost of cutting it out."""

_CHUNK_BYTES_MIN = 4096
"""A smaller chunk is appended to the one before it: as an object it would outweigh its bytes."""


class FrameBuffer:
    """Bytes of one connection on their way to become frames.

    After an `InvalidFrame` the stream cannot be followed any more; the connection must go.
    """

    __slots__ = ("_chunks", "_needed", "_size", "buffered", "is_between_frames", "size_max")

    def __init__(self, size_max: int) -> None:
        """Begin an empty stream whose frames have at most `size_max` bytes behind the prefix."""
        self.size_max = size_max
        self.buffered = 0
        """How many bytes are held and not yet part of a frame."""
        self.is_between_frames = True
        """Whether the next byte is the first of a frame: nothing of one has arrived."""
        self._chunks: list[bytes | bytearray] = []
        self._size = -1
        self._needed = _PREFIX_BYTES

    def receive(self, data: bytes) -> list[bytes]:
        """Take what has arrived; return the frames that are whole now, without their prefix.

        Frames before an invalid one are returned first; the next call, with or without data,
        judges it again, by the cap of then.

        Raises:
            InvalidFrame: for a size that is negative or above the cap.
        """
        if data:
            if self.is_frame(data):
                # Nearly always one frame arrives, and nothing else.
                return [data[_PREFIX_BYTES:]]
            self._keep(data)
        if self.buffered < self._needed:
            return []
        return self._cut(b"".join(self._chunks))

    def is_frame(self, data: bytes) -> bool:
        """Say whether these bytes, the next to arrive, are one frame and no more."""
        size = len(data) - _PREFIX_BYTES
        return self.is_between_frames and 0 <= size <= self.size_max and _INT32_AT(data)[0] == size

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
        """Return the whole frames of what is held, and keep the rest."""
        frames: list[bytes] = []
        at, end = 0, len(held)
        while True:
            if self._size < 0:
                if end - at < _PREFIX_BYTES:
                    self._needed = _PREFIX_BYTES
                    break
                (size,) = _INT32_AT(held, at)
                if not 0 <= size <= self.size_max:
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
