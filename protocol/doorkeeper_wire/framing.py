"""What is around a message on the wire: its size, and its header.

`FrameBuffer` splits a byte stream into frames: an int32 size, then that many bytes. It does no
I/O, and holds no more than the bytes received: nothing is allocated for an announced size, and a
frame above the limit is rejected before it is buffered. Chunks are kept as received and joined once
the frame is complete; small ones are merged first, so that a peer which sends single bytes costs no
more memory than its bytes.

The API and its version determine the version of the header: flexible versions have request header 2
and response header 1, the others 1 and 0. ApiVersions is an exception, which allows a client to
negotiate with an unknown server: its response has header 0 in every version, and a request in an
unknown version is read by the same rule as the known ones. Request header 0 is not supported; only
ControlledShutdown version 0 used it.

Sources: RequestHeader, ResponseHeader and ApiMessageType of kafka-clients.
"""

from struct import Struct

from doorkeeper_wire.api_keys import FLEXIBLE_FROM, ApiKey
from doorkeeper_wire.errors import InvalidFrame, Malformed, UnknownApi
from doorkeeper_wire.messages.request_header import RequestHeader
from doorkeeper_wire.messages.response_header import ResponseHeader

__all__ = [
    "FrameBuffer",
    "RequestHeader",
    "ResponseHeader",
    "decode_request_header",
    "decode_response_header",
    "encode_request",
    "encode_request_header",
    "encode_response",
    "request_header_version",
    "response_header_version",
]

_PREFIX_BYTES = 4
# Reads a size in place: less than half the cost of slicing.
_INT32_AT = Struct(">i").unpack_from
# Smaller chunks are merged: the overhead of an object would exceed their bytes.
_CHUNK_BYTES_MIN = 4096

_FIXED = Struct(">hhi")
_SIZE = Struct(">i")
_SIZE_AND_ID = Struct(">ii")
_SIZE_ID_AND_NO_TAGS = Struct(">iix")


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


# --- headers


def request_header_version(api_key: int, api_version: int) -> int:
    """Return the version of the request header for an API in a version.

    Raises:
        LookupError: Kafka has no such API.
    """
    return 2 if api_version >= FLEXIBLE_FROM[api_key] else 1


def response_header_version(api_key: int, api_version: int) -> int:
    """Return the version of the response header for an API in a version.

    Raises:
        LookupError: Kafka has no such API.
    """
    if api_key == ApiKey.API_VERSIONS:
        return 0
    return 1 if api_version >= FLEXIBLE_FROM[api_key] else 0


def decode_request_header(frame: bytes) -> tuple[RequestHeader, int]:
    """Return the header of a request, and the offset of the body.

    Raises:
        Malformed: the frame has no valid header.
        UnknownApi: Kafka has no such API key.
    """
    if len(frame) < _FIXED.size:
        raise Malformed("header", 0, f"needs {_FIXED.size} bytes, found {len(frame)}")
    api_key, api_version, correlation_id = _FIXED.unpack_from(frame)
    flexible_from = FLEXIBLE_FROM.get(api_key)
    if flexible_from is None:
        raise UnknownApi(api_key, api_version, correlation_id)
    return RequestHeader.read(frame, 0, 2 if api_version >= flexible_from else 1)


def encode_request_header(header: RequestHeader) -> bytes:
    """Return the bytes of a request header, in the version for its API.

    Raises:
        LookupError: Kafka has no such API.
        Unencodable: a field cannot carry its value.
    """
    return header.encode(request_header_version(header.api_key, header.api_version))


def encode_request(header: RequestHeader, body: bytes) -> bytes:
    """Return a whole request: size, header, body.

    Raises:
        LookupError: Kafka has no such API.
        Unencodable: a field of the header cannot carry its value.
    """
    encoded = encode_request_header(header)
    return b"".join((_SIZE.pack(len(encoded) + len(body)), encoded, body))


def encode_response(api_key: int, api_version: int, correlation_id: int, body: bytes) -> bytes:
    """Return a whole response: size, header, body.

    Raises:
        LookupError: Kafka has no such API.
    """
    # As ``response_header_version``; this is on the path of each response.
    if api_version >= FLEXIBLE_FROM[api_key] and api_key != ApiKey.API_VERSIONS:
        return _SIZE_ID_AND_NO_TAGS.pack(5 + len(body), correlation_id) + body
    return _SIZE_AND_ID.pack(4 + len(body), correlation_id) + body


def decode_response_header(
    frame: bytes, api_key: int, api_version: int
) -> tuple[ResponseHeader, int]:
    """Return the header of a response to a client's request, and the offset of the body.

    Raises:
        LookupError: Kafka has no such API.
        Malformed: the frame has no valid header.
    """
    return ResponseHeader.decode(frame, 0, response_header_version(api_key, api_version))
