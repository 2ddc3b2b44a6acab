"""What can go wrong on the wire, as exceptions.

    WireError
      Malformed      bytes that are no such message
      InvalidFrame   a length prefix that is negative or above the cap
      UnknownApi     a request header whose API key Kafka does not have
      Unencodable    a value that its field cannot carry
        Unsupported  a value, or a message, that this version cannot carry

The codec never raises anything else for input from outside, and never knows Kafka's error codes.
"""


class WireError(Exception):
    """Something on the wire, or meant for it, breaks the protocol's rules."""


class Malformed(WireError):
    """Bytes that do not make the message: where, in which field, and why.

    `field` is a path in Kafka's structs, such as `creations.principal`; `offset` counts bytes from
    the beginning of the data that was given to the decoder.
    """

    def __init__(self, field: str, offset: int, reason: str) -> None:
        super().__init__(f"{field} at byte {offset}: {reason}")
        self.field = field
        self.offset = offset
        self.reason = reason


class InvalidFrame(WireError):
    """A frame announces a size that is negative or above the cap."""

    def __init__(self, size: int, size_max: int) -> None:
        found = f"frame of {size} bytes"
        super().__init__(f"{found}; at most {size_max}" if size > size_max else found)
        self.size = size
        self.size_max = size_max


class UnknownApi(WireError):
    """A request header names an API key that Kafka does not have."""

    def __init__(self, api_key: int, api_version: int, correlation_id: int) -> None:
        super().__init__(f"api key {api_key}, version {api_version}: no such API")
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id


class Unencodable(WireError):
    """A value cannot be written into its field: wrong type, out of range, too long, or null."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class Unsupported(Unencodable):
    """This version of the message cannot say what was asked of it, and must not drop it."""
