"""Why a connection ends whose bytes are no requests: the words for it, and what is logged beside.

Source: ``SocketServer``, ``NetworkReceive``, ``RequestHeader`` and ``SaslServerAuthenticator`` of
Kafka 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper_wire.errors import Malformed

if TYPE_CHECKING:
    from doorkeeper_wire.errors import InvalidFrame, UnknownApi

NOT_KAFKA: Final = (
    "Invalid request, potential reasons: kafka client configured with the wrong security protocol,"
    " it does not support KIP-43 or it is not a kafka client."
)
"""What a broker says of bytes that are no request, before anybody has authenticated."""

_TLS_GREETINGS: Final = (0x160301, 0x160302, 0x160303)
"""How the first bytes of a TLS client look where the size of a frame is expected."""

Why = tuple[str, dict[str, object]]


def size_fault(fault: InvalidFrame) -> Why:
    """Say why the size of a frame cannot be."""
    larger = f" larger than {fault.size_max}" if fault.size > fault.size_max else ""
    hint: dict[str, object] = {}
    if fault.size >> 8 in _TLS_GREETINGS:
        hint = {"hint": "the client speaks TLS"}
    return f"Invalid receive (size = {fault.size}{larger})", hint


def header_fault(error: Malformed | UnknownApi, *, is_open: bool) -> Why:
    """Say why a header cannot be read; ``is_open`` says whether the client has authenticated."""
    if isinstance(error, Malformed):
        reason, fields = "malformed request header", where(error)
    else:
        reason = f"Error parsing request header. Our best guess of the apiKeyId is: {error.api_key}"
        fields = {"api_version": error.api_version, "correlation_id": error.correlation_id}
    if not is_open:
        fields["cause"], reason = reason, NOT_KAFKA
    return reason, fields


def where(error: Malformed) -> dict[str, object]:
    """Return what a line of the log says of a fault in a request."""
    return {"field": error.field, "offset": error.offset, "cause": error.reason}
