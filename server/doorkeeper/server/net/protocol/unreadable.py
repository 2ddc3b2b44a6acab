"""Requests that cannot be read or are not served: the connection is closed and logged.

Source: ``SocketServer``, ``NetworkReceive``, ``RequestHeader`` and ``SaslServerAuthenticator`` of
Kafka 4.3.1.
"""

from __future__ import annotations

from typing import Final

from doorkeeper.acls.model import Principal
from doorkeeper.server.net.protocol.responses import End, request_fields
from doorkeeper_wire.api_keys import API_NAMES
from doorkeeper_wire.errors import InvalidFrame, Malformed, UnknownApi
from doorkeeper_wire.framing import RequestHeader

NOT_KAFKA: Final = (
    "Invalid request, potential reasons: kafka client configured with the wrong security protocol,"
    " it does not support KIP-43 or it is not a kafka client."
)
"""A broker's text for bytes that are no request, before the authentication."""

_TLS_GREETINGS: Final = (0x160301, 0x160302, 0x160303)
"""The first bytes of a TLS client, read as the size of a frame."""


def size_fault(fault: InvalidFrame) -> End:
    larger = f" larger than {fault.size_max}" if fault.size > fault.size_max else ""
    hint: dict[str, object] = {}
    # A TLS record begins with its type (22) and version, three of the four bytes of the size.
    if fault.size >> 8 in _TLS_GREETINGS:
        hint = {"hint": "the client speaks TLS"}
    return End(f"Invalid receive (size = {fault.size}{larger})", hint)


def header_fault(error: Malformed | UnknownApi, *, is_open: bool) -> End:
    """Return the end for an unreadable header; ``is_open``: the client is authenticated."""
    if isinstance(error, Malformed):
        reason, fields = "malformed request header", _where(error)
    else:
        reason = f"Error parsing request header. Our best guess of the apiKeyId is: {error.api_key}"
        fields = {"api_version": error.api_version, "correlation_id": error.correlation_id}
    # Before the authentication most unreadable input is a wrong protocol: a broker logs this text.
    if not is_open:
        fields["cause"], reason = reason, NOT_KAFKA
    return End(reason, fields)


def body_fault(header: RequestHeader, principal: Principal, error: Malformed) -> End:
    """Return the end for a body that is unreadable or refused while parsing."""
    return End(
        f"Error getting request for apiKey: {API_NAMES[header.api_key]}, apiVersion:"
        f" {header.api_version}",
        {**request_fields(header, principal), **_where(error)},
    )


def disabled_api(header: RequestHeader) -> End:
    return End(f"Received request for disabled api with key {_api_text(header)}")


def unsupported_version(header: RequestHeader, principal: Principal) -> End:
    """Return the end for an unsupported version of an API other than ApiVersions."""
    return End(
        f"Received request for api with key {_api_text(header)} and unsupported version"
        f" {header.api_version}",
        request_fields(header, principal),
    )


def _where(error: Malformed) -> dict[str, object]:
    return {"field": error.field, "offset": error.offset, "cause": error.reason}


def _api_text(header: RequestHeader) -> str:
    """Return the API's key and name, as in a broker's log."""
    return f"{header.api_key} ({API_NAMES[header.api_key]})"
