"""One dissected frame: its fields, and the position and reason of a fault."""

from __future__ import annotations

import re
from struct import Struct
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from doorkeeper.dissector.frame_cutter import PREFIX_BYTES
from doorkeeper_wire.api_keys import API_NAMES, ApiKey
from doorkeeper_wire.declared import trees
from doorkeeper_wire.declared.contents import MODULES
from doorkeeper_wire.declared.fields import Field, FieldReader
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.headers import request_header_version, response_header_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.dissector.frame_cutter import Frame

Kind = Literal["request", "response", "token"]

_FIXED: Final = Struct(">hhi")
_API_VERSION_OFFSET: Final = PREFIX_BYTES + 2

_ERROR_OF_API_VERSIONS: Final = slice(8, 10)
_UNSUPPORTED_VERSION: Final = b"\x00\x23"

# TLS records of a handshake, which begin a connection: type 22, then version 3.x.
_TLS_HANDSHAKE: Final = b"\x16\x03"

_SECRET_CONFIG: Final = re.compile(
    r"password|secret|jaas|keystore\.key|certificate|credential", re.IGNORECASE
)
"""Configurations whose values Kafka's brokers and connectors treat as passwords."""


class RequestId(NamedTuple):
    """The fixed fields that begin every request."""

    api_key: int
    version: int
    correlation_id: int


def request_id(frame: Frame) -> RequestId | None:
    """Return the fixed fields of a request; None for too few bytes."""
    if len(frame.data) < PREFIX_BYTES + _FIXED.size:
        return None
    return RequestId(*_FIXED.unpack_from(frame.data, PREFIX_BYTES))


def _is_refusal(frame: Frame) -> bool:
    """Return whether a response of ApiVersions begins with the error UNSUPPORTED_VERSION."""
    return frame.data[_ERROR_OF_API_VERSIONS] == _UNSUPPORTED_VERSION


class Dissection:
    """A frame and its context. `error` and `note` are set by `fields`.

    `api` is empty, and `version` None, where they are unknown. `note` is the reason why an intact
    body is not decoded.
    """

    def __init__(
        self,
        frame: Frame,
        kind: Kind,
        api_key: int | None = None,
        version: int | None = None,
        *,
        frame_bytes_max: int,
    ) -> None:
        """API and version of a response are those of its request."""
        if kind == "request" and (found := request_id(frame)) is not None:
            api_key, version = found.api_key, found.version
        if kind == "response" and api_key == ApiKey.API_VERSIONS and _is_refusal(frame):
            # A broker that lacks the version answers in version 0, which every client reads.
            version = 0
        self.frame = frame
        self.kind = kind
        self.version = version
        self.note = ""
        self.error: Malformed | None = None
        self._api_key = api_key
        self._frame_bytes_max = frame_bytes_max
        self._config = ""

    @property
    def api(self) -> str:
        return "" if self._api_key is None else API_NAMES.get(self._api_key, "")

    def fields(self) -> Iterator[Field]:
        """Yield the fields up to the fault, if there is one."""
        frame = self.frame
        try:
            for field in self._fields():
                yield self._with_secret_config(field)
        except Malformed as error:
            self.error = error
        if frame.end:
            self.error = self._cut_off(self.error)

    def _cut_off(self, fault: Malformed | None) -> Malformed:
        """Return the fault of an incomplete frame: where it ends, and the field it breaks."""
        frame = self.frame
        there = len(frame.data)
        of = "" if frame.size is None else f" of {PREFIX_BYTES + frame.size}"
        reason = f"{frame.end} after {there}{of} bytes of the frame"
        if fault is None:
            return Malformed("", there, reason)
        return Malformed(fault.field, fault.offset, f"{fault.reason}; {reason}")

    def _fields(self) -> Iterator[Field]:
        yield self._size()
        if self.kind == "token":
            count = len(self.frame.data) - PREFIX_BYTES
            self.note = f"SASL token of {count} bytes without a header: cannot be decoded"
            return
        reader = FieldReader(self.frame.data, PREFIX_BYTES)
        if self.kind == "request":
            yield from self._request_header(reader)
        else:
            yield from self._response_header(reader)
        if self.note:
            return
        yield from self._body(reader)

    def _size(self) -> Field:
        size = self.frame.size
        if size is None:
            raise Malformed("Size", 0, f"needs more than the {len(self.frame.data)} bytes left")
        if not 0 <= size <= self._frame_bytes_max:
            reason = f"{size}; allowed are 0 to {self._frame_bytes_max}"
            if self.frame.data.startswith(_TLS_HANDSHAKE):
                reason += " (the bytes look like TLS)"
            raise Malformed("Size", 0, reason)
        return Field(0, PREFIX_BYTES, "Size", "Size", "int32", size, 0, secret=False)

    def _request_header(self, reader: FieldReader) -> Iterator[Field]:
        if self._api_key is None or self.version is None:
            # The frame is too short for a header; reading finds out where.
            yield from reader.read("RequestHeader", 1)
            return
        if self._api_key not in API_NAMES:
            yield from reader.read("RequestHeader", 0)
            raise Malformed("ApiKey", PREFIX_BYTES, f"{self._api_key} is no API of Kafka")
        yield from reader.read("RequestHeader", request_header_version(self._api_key, self.version))
        self._check_declared(reader, "Request")

    def _response_header(self, reader: FieldReader) -> Iterator[Field]:
        if self._api_key is None or self.version is None:
            yield from reader.read("ResponseHeader", 0)
            self.note = f"{self._remaining(reader)} bytes not decoded: their request was not seen"
            return
        yield from reader.read(
            "ResponseHeader", response_header_version(self._api_key, self.version)
        )
        self._check_declared(reader, "Response")

    def _check_declared(self, reader: FieldReader, suffix: str) -> None:
        """Refuse an unknown version; note an API that Doorkeeper does not serve."""
        # Kafka has the API, but its messages are not declared here.
        if self.api + suffix not in MODULES:
            self.note = (
                f"{self._remaining(reader)} bytes not decoded: Doorkeeper does not serve {self.api}"
            )
            return
        versions = version_count(self.api)
        if self.version is None or not 0 <= self.version < versions:
            reason = f"{self.version}; {self.api} has the versions 0 to {versions - 1}"
            # A response does not carry its version.
            place = _API_VERSION_OFFSET if suffix == "Request" else reader.position
            raise Malformed("ApiVersion", place, reason)

    def _body(self, reader: FieldReader) -> Iterator[Field]:
        assert self.version is not None, "the header is there"
        yield from reader.read(f"{self.api}{self.kind.capitalize()}", self.version)
        if left := self._remaining(reader):
            raise Malformed("", reader.position, f"{left} trailing bytes")

    def _remaining(self, reader: FieldReader) -> int:
        return len(self.frame.data) - reader.position

    def _with_secret_config(self, field: Field) -> Field:
        """Mark the value of a configuration whose name, which precedes it, is a password's."""
        # Only the name decides: DescribeConfigs responses carry the flag after the value.
        if field.name == "Name" and field.type == "string":
            self._config = field.value or ""
        if field.name == "Value" and _SECRET_CONFIG.search(self._config):
            return field._replace(secret=True)
        return field


def declared_apis() -> tuple[str, ...]:
    """Return the names of the APIs whose messages are declared, sorted."""
    return tuple(sorted(name.removesuffix("Request") for name in MODULES if name[-7:] == "Request"))


def version_count(api: str) -> int:
    """Return the number of declared versions of an API; they begin with 0.

    Raises:
        LookupError: the API is not declared.
    """
    return len(trees(f"{api}Request"))
