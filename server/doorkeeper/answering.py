"""The frame of an answer, and the end of a connection where there can be none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.exchange import Closed
from doorkeeper_wire.api_keys import API_NAMES
from doorkeeper_wire.errors import Unencodable
from doorkeeper_wire.headers import encode_response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.acl.model import Principal
    from doorkeeper.node import Response
    from doorkeeper_wire.headers import RequestHeader


class End(Exception):
    """Leaves whatever is under way and closes the connection."""

    def __init__(self, reason: str, fields: Mapping[str, object] | None = None) -> None:
        """Say why; an empty reason is worth no line of the log."""
        super().__init__(reason)
        self.closed = Closed(reason, fields or {})


def encoded(header: RequestHeader, response: Response, *, version: int | None = None) -> bytes:
    """Return the whole frame of an answer.

    Raises:
        End: it does not fit the version.

    """
    if version is None:
        version = header.api_version
    try:
        body = response.encode(version)
    except Unencodable as error:
        raise unfit(header, version, error) from None
    return framed(header, body, version=version)


def framed(header: RequestHeader, body: bytes, *, version: int | None = None) -> bytes:
    """Return the whole frame of an answer whose body is made."""
    if version is None:
        version = header.api_version
    return encode_response(header.api_key, version, header.correlation_id, body)


def unfit(header: RequestHeader, version: int, error: Unencodable) -> End:
    """Return the end of a connection whose answer a version has no room for."""
    return End(
        f"the answer does not fit version {version} of {API_NAMES[header.api_key]}",
        {"correlation_id": header.correlation_id, "cause": str(error)},
    )


def told_of(header: RequestHeader, principal: Principal) -> dict[str, object]:
    """Return what a log line says of a request."""
    return {
        "api": API_NAMES[header.api_key],
        "version": header.api_version,
        "correlation_id": header.correlation_id,
        "client_id": header.client_id or "",
        "principal": str(principal),
    }


def key_of(header: RequestHeader) -> str:
    """Return the API's key and name, as a broker's log has them."""
    return f"{header.api_key} ({API_NAMES[header.api_key]})"
