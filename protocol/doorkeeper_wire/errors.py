"""The exceptions of the codec.

    WireError
      Malformed      the bytes are not such a message
      InvalidFrame   a length prefix is negative or above the limit
      UnknownApi     a request header has an API key that Kafka does not have
      Unencodable    a field cannot carry a value
        Unsupported  a version cannot carry a value, or there is no such version

The codec raises nothing else for external input, and does not know Kafka's error codes.
"""


class WireError(Exception):
    """A violation of the protocol's rules, in received data or in values to send."""


class Malformed(WireError):
    """The bytes are not a message: where, in which field, and why.

    `field` is a path in Kafka's structs, such as `creations.principal`; `offset` counts bytes from
    the beginning of the decoder's data.
    """

    def __init__(self, field: str, offset: int, reason: str) -> None:
        super().__init__(f"{field} at byte {offset}: {reason}")
        self.field = field
        self.offset = offset
        self.reason = reason


class InvalidFrame(WireError):
    """A frame announces a size that is negative or above the limit."""

    def __init__(self, size: int, size_max: int) -> None:
        found = f"frame of {size} bytes"
        super().__init__(f"{found}; at most {size_max}" if size > size_max else found)
        self.size = size
        self.size_max = size_max


class UnknownApi(WireError):
    """A request header has an API key that Kafka does not have."""

    def __init__(self, api_key: int, api_version: int, correlation_id: int) -> None:
        super().__init__(f"api key {api_key}, version {api_version}: no such API")
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id


class Unencodable(WireError):
    """A field cannot carry a value: wrong type, out of range, too long, or null."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class Unsupported(Unencodable):
    """The version lacks a field that is set and must not be dropped, or does not exist."""
