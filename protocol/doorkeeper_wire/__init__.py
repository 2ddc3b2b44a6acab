"""The Kafka protocol as values: frames, headers and messages, without I/O.

    frames = FrameBuffer(size_max).receive(data)
    header, at = decode_request_header(frame)
    request, _ = DescribeAclsRequest.decode(frame, at, header.api_version)
    answer = encode_response(header.api_key, header.api_version, header.correlation_id,
                             DescribeAclsResponse(...).encode(header.api_version))

The messages are in `doorkeeper_wire.messages.<api>`, sizes and headers in
`doorkeeper_wire.framing`, API keys in `doorkeeper_wire.api_keys`; `doorkeeper_wire.declared` has
the same messages as `construct` trees, made in memory from the schemas;
`doorkeeper_wire.record_batches` reads the records of topics. Nothing generated is
imported from here, so that the generator can run if its output is missing or wrong.
"""

from doorkeeper_wire.errors import (
    InvalidFrame,
    Malformed,
    Unencodable,
    UnknownApi,
    Unsupported,
    WireError,
)
from doorkeeper_wire.message import Message, Record

__all__ = [
    "InvalidFrame",
    "Malformed",
    "Message",
    "Record",
    "Unencodable",
    "UnknownApi",
    "Unsupported",
    "WireError",
]
