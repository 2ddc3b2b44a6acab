"""Headers of requests and responses.

The API and its version determine the version of the header: flexible versions have request header 2
and response header 1, the others 1 and 0. ApiVersions is an exception, which allows a client to
negotiate with an unknown server: its response has header 0 in every version, and a request in an
unknown version is read by the same rule as the known ones. Request header 0 is not supported; only
ControlledShutdown version 0 used it.

Sources: RequestHeader, ResponseHeader and ApiMessageType of kafka-clients.
"""

from struct import Struct

from doorkeeper_wire.api_keys import FLEXIBLE_FROM, ApiKey
from doorkeeper_wire.errors import Malformed, UnknownApi
from doorkeeper_wire.messages.request_header import RequestHeader
from doorkeeper_wire.messages.response_header import ResponseHeader

__all__ = [
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

_FIXED = Struct(">hhi")
_SIZE = Struct(">i")
_SIZE_AND_ID = Struct(">ii")
_SIZE_ID_AND_NO_TAGS = Struct(">iix")


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
        raise Malformed("header", 0, f"needs {_FIXED.size} bytes, {len(frame)} are there")
    api_key, api_version, correlation_id = _FIXED.unpack_from(frame)
    flexible_from = FLEXIBLE_FROM.get(api_key)
    if flexible_from is None:
        raise UnknownApi(api_key, api_version, correlation_id)
    return RequestHeader.decode(frame, 0, 2 if api_version >= flexible_from else 1)


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
